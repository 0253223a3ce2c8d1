"""What torch and the libraries around it do, as data. One place, with the source of each entry.

Sources: [docs] the PyTorch documentation of the named function; [measured] run with torch 2.13 on the
CPU; [common] usage that many code bases share.
"""

from __future__ import annotations

from typing import Final

# Contexts and decorators of torch that set the grad mode [docs]; `set_grad_enabled` takes it as an argument.
GRAD_OFF: Final = ("no_grad", "inference_mode")
GRAD_MODES: Final = (*GRAD_OFF, "enable_grad")

# What models of timm and of CLIP are asked for beside a pass: one tensor [docs of both].
FEATURES: Final = ("forward_features", "encode_image", "encode_text", "get_image_features", "get_text_features")

# Functions and methods whose results carry no graph [measured]: comparisons, indices, integer casts, shapes.
GRAPH_FREE: Final = frozenset(
    """argmax argmin argsort eq ne lt le gt ge isnan isinf isfinite isclose nonzero long int bool
    short char byte new_zeros new_ones new_full new_empty new_tensor zeros_like ones_like full_like empty_like
    rand_like randn_like randint_like bincount histc searchsorted bucketize unique unique_consecutive any all
    logical_and logical_or logical_not logical_xor multinomial randperm one_hot count_nonzero floor_divide
    sign_bit detach""".split()
)

# Types of tensors whose elements cannot require gradients [docs: torch.Tensor.requires_grad_].
WHOLE_TYPES: Final = frozenset(
    """LongTensor IntTensor BoolTensor ByteTensor torch.long torch.int torch.int8 torch.int16 torch.int32 torch.int64
    torch.uint8 torch.bool int bool builtins.int builtins.bool""".split()
)

# Factories: fresh storage, no graph unless `requires_grad=True` [docs].
FACTORIES: Final = frozenset(
    """zeros ones empty full arange linspace logspace eye tensor as_tensor from_numpy from_dlpack rand randn randint
    randperm normal zeros_like ones_like empty_like full_like rand_like randn_like randint_like scalar_tensor
    tril_indices triu_indices empty_strided complex_tensor frombuffer Tensor FloatTensor LongTensor BoolTensor
    hann_window hamming_window blackman_window range meshgrid_indices""".split()
)

# Tensor methods and functions of `torch` that give Python numbers, shapes, or other light things [docs].
LIGHT_RESULTS: Final = frozenset(
    """item tolist numpy size dim numel nelement stride element_size data_ptr get_device is_cuda is_contiguous
    storage_offset is_floating_point type dtype ndimension __len__ __bool__ __float__ __int__ hex
    is_tensor is_complex get_default_dtype set_default_dtype manual_seed device is_available device_count
    current_device synchronize empty_cache save set_num_threads get_num_threads initial_seed seed
    set_printoptions get_rng_state set_rng_state is_grad_enabled is_inference_mode_enabled is_storage
    finfo iinfo Size Generator memory_allocated max_memory_allocated memory_reserved
    reset_peak_memory_stats set_default_device use_deterministic_algorithms promote_types result_type
    storage untyped_storage set_default_tensor_type set_float32_matmul_precision record_function
    is_inference is_leaf is_nonzero is_same_size equal allclose broadcast_shapes typename
    compiled_with_cxx11_abi set_device nvtx Stream Event current_stream mem_get_info get_device_name
    get_device_properties manual_seed_all""".split()
)

# Views and identities: they hand on what they got, whatever the grad mode is [measured].
VIEWS: Final = frozenset(
    """view reshape squeeze unsqueeze expand expand_as transpose permute t flatten unflatten narrow select
    chunk split unbind swapaxes movedim view_as contiguous to cpu cuda float double half bfloat16 type_as
    diagonal unfold requires_grad_ pin_memory mT swapdims real imag retain_grad rename refine_names align_to
    as_strided hsplit vsplit tensor_split share_memory_ coalesce to_dense""".split()
)

# Those of them that copy, or may: what they give is no longer a part of something larger [docs: Tensor Views].
MAY_COPY: Final = frozenset(
    """reshape flatten contiguous to cpu cuda float double half bfloat16 type_as pin_memory coalesce to_dense""".split()
)

# Those of them that give the tensor itself where there is nothing to do; the others give another object.
MAYBE_ITSELF: Final = frozenset("to type type_as contiguous float half double bfloat16 pin_memory".split())

# Those of them that give several parts of one tensor [docs: torch.split].
TAKES_APART: Final = ("chunk", "split", "unbind", "tensor_split")

# Methods of modules that set up their parts, or take them down and up again.
PREPARES: Final = ("init_", "_init_", "reset", "set_", "fuse", "reparam", "switch_", "prune_")

# Results that are tuples of (values, indices): only the first carries the graph [measured].
VALUES_AND_INDICES: Final = frozenset("topk sort kthvalue mode cummax cummin".split())
# Each with storage of its own [docs].
SEVERAL_RESULTS: Final = {
    "qr": 2, "eigh": 2, "eig": 2, "slogdet": 2, "lu_factor": 2, "std_mean": 2, "var_mean": 2, "svd": 3,
    "svd_lowrank": 3, "pca_lowrank": 3, "lu": 3, "lstsq": 4,
}  # fmt: skip

# One number however large the input is, unless a dimension or `reduction="none"` is given [docs].
REDUCTIONS: Final = frozenset(
    "sum mean max min norm prod std var median nanmean nansum amax amin logsumexp abs_max dot trace".split()
)

LOSS_FUNCTIONS: Final = frozenset(
    """cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div ctc_loss margin_ranking_loss cosine_embedding_loss
    triplet_margin_loss triplet_margin_with_distance_loss hinge_embedding_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss soft_margin_loss poisson_nll_loss gaussian_nll_loss""".split()
)

# Losses whose scalar owns a storage of its input's size on the CPU, torch 2.13 [measured; pytorch#185647].
WIDE_LOSSES: Final = frozenset("mse_loss smooth_l1_loss binary_cross_entropy soft_margin_loss".split())
WIDE_LOSS_MODULES: Final = frozenset("MSELoss SmoothL1Loss BCELoss SoftMarginLoss".split())

# Modules of torch.nn without parameters: their output has a graph only if their input has [docs].
PARAMETERLESS: Final = frozenset(
    """ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softmax LogSoftmax Softplus Softsign
    Hardtanh Hardsigmoid Hardswish Hardshrink Softshrink Tanhshrink Threshold GLU LogSigmoid Softmin Softmax2d
    Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Identity Flatten Unflatten
    MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d
    AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
    Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle ZeroPad1d ZeroPad2d ZeroPad3d
    ReflectionPad1d ReflectionPad2d ReplicationPad1d ReplicationPad2d ConstantPad1d ConstantPad2d CosineSimilarity
    PairwiseDistance Fold Unfold ChannelShuffle LPPool1d LPPool2d FractionalMaxPool2d""".split()
)
MODULE_CONTAINERS: Final = frozenset("ModuleList ModuleDict Sequential ParameterList ParameterDict".split())

# Wrappers that stand for the module they are given [docs].
MODULE_WRAPPERS: Final = frozenset(
    """DataParallel DistributedDataParallel FullyShardedDataParallel compile script script_if_tracing optimize
    SyncBatchNorm.convert_sync_batchnorm spectral_norm weight_norm DDP FSDP prepare_model""".split()
)

# Functions of other packages that compute with tensors, as differentiable as torch's own [docs of each].
COMPUTES: Final = {
    "einops": frozenset("rearrange reduce repeat einsum".split()),
    "torch_scatter": frozenset("scatter scatter_add scatter_sum scatter_mean scatter_softmax segment_csr".split()),
    "torchvision.ops": frozenset(
        "box_iou generalized_box_iou roi_align roi_pool sigmoid_focal_loss distance_box_iou_loss".split()
    ),
    "torchvision.transforms.functional": frozenset(
        "resize normalize rotate affine crop center_crop pad hflip vflip gaussian_blur".split()
    ),
}

# In-place operations that bring in what they are given [docs: torch.Tensor].
MIXES_IN: Final = frozenset(
    "add_ sub_ lerp_ copy_ addcmul_ addcdiv_ addmm_ index_add_ index_copy_ scatter_ scatter_add_".split()
)
IN_PLACE_LIGHT: Final = frozenset(
    """zero_ fill_ uniform_ normal_ random_ bernoulli_ exponential_ clamp_ clamp_min_ clamp_max_ detach_ requires_grad_
    share_memory_ retain_grad xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_
    orthogonal_ constant_ ones_ zeros_ eye_ clip_grad_norm_ clip_grad_value_ resize_ set_ t_ transpose_ squeeze_
    unsqueeze_ half_ pin_ tril_ triu_ cauchy_ geometric_ log_normal_ nan_to_num_ relu_ initialize_
    init_process_group_ _ load_state_dict_ manual_seed_""".split()
)

MODULE_METHODS: Final = frozenset(
    """eval train to cuda cpu half float double bfloat16 requires_grad_ apply share_memory type to_empty compile
    zero_grad""".split()
)

# What keeps a function that it is made with, for as long as it lives [docs; measured].
CACHES: Final = ("functools.lru_cache", "functools.cache")  # decorators whose entries stay [docs: functools]
KEEPS_CALLBACKS: Final = frozenset("LambdaLR MultiplicativeLR defaultdict DataLoader".split())

# What gives the parts of a module [docs: torch.nn.Module].
MODULE_PARTS: Final = frozenset("modules named_modules children named_children".split())

# Methods that only modules have [docs]: calling one on a value says what it is [common].
MODULE_EVIDENCE: Final = frozenset(
    """parameters named_parameters named_modules modules named_buffers buffers children named_children
    load_state_dict_strict register_forward_hook register_forward_pre_hook register_full_backward_hook
    get_submodule""".split()
)

# Callees that only look at what they are given [common].
REPORTERS: Final = frozenset(
    """print log info debug warning warn error exception critical write add_scalar add_scalars add_histogram
    set_postfix set_postfix_str set_description set_description_str format log_dict log_metrics log_metric
    writelines report echo track tqdm_write isinstance hasattr len float int str repr bool round type id
    isnan isfinite update_progress add_image""".split()
)

TO_ARRAY: Final = frozenset(  # functions of numpy that turn a tensor into an array themselves [measured, numpy 2.4]
    """array asarray asanyarray ascontiguousarray ones_like zeros_like empty_like full_like concatenate stack vstack
    hstack save savez allclose isclose isnan isfinite sqrt exp log log2 log10 abs sign square unique histogram
    percentile quantile median""".split()
)

OPENERS: Final = frozenset(  # last names of functions that open a file or map it, and leave it open
    """open File ZipFile memmap Dataset open_file VideoCapture VideoReader memory_map safe_open TiffFile OpenSlide
    open_dataset""".split()
)

# Roots of packages whose functions give numbers, strings and the like.
LIGHT_ROOTS: Final = frozenset(
    """numpy np math os sys time random json re logging pathlib datetime argparse warnings string glob shutil
    subprocess platform socket uuid hashlib csv pickle yaml sklearn scipy pandas matplotlib PIL cv2 wandb
    tensorboard tensorboardX gc traceback inspect typing dataclasses enum abc io tempfile struct operator secrets
    statistics decimal fractions textwrap pprint getpass signal""".split()
)

# Frameworks' hooks and the grad mode they run in [docs of Lightning: "validation, test and predict loops run
# with gradients disabled"; of transformers.Trainer: `prediction_step` runs under no_grad].
LIGHTNING_GRAD_OFF: Final = frozenset(
    """validation_step test_step predict_step on_validation_start on_validation_end on_validation_epoch_start
    on_validation_epoch_end validation_epoch_end test_epoch_end on_test_epoch_start on_test_epoch_end on_test_start
    on_test_end on_predict_start on_predict_end on_predict_epoch_start on_predict_epoch_end on_validation_batch_start
    on_validation_batch_end on_test_batch_start on_test_batch_end on_predict_batch_start on_predict_batch_end
    validation_step_end test_step_end""".split()
)

# A base class, by the end of its name: what it calls for each batch, and what it calls once for many of them
# [docs: transformers.Trainer, `logging_steps` and `eval_steps`; ignite.metrics.Metric, `started` and `completed`].
CONTRACTS: Final = (
    ("Trainer", ("compute_loss", "training_step"), ("log", "evaluate", "evaluation_loop")),
    ("Metric", ("update",), ("reset", "compute")),
)
EPOCH_HOOKS: Final = ("epoch_end", "epoch_start", "train_end", "validation_end", "test_end")
STEP_HOOKS: Final = ("training_step", "validation_step", "test_step", "predict_step", "batch_end")

# Methods whose result a trainer differentiates, and who has them [docs of Lightning: `training_step` returns the
# loss, or a dict that holds it].
ATTACHED_STEPS: Final = frozenset(("training_step",))
STEP_OWNERS: Final = frozenset("lightning_module pl_module accelerator strategy training_type_plugin".split())

# What keeps a function, and all that it refers to, for the rest of the process, with what takes it out again; "" where
# nothing does [docs: atexit, os, sys, gc; CPython: threading._register_atexit].
PROCESS_CALLBACKS: Final = {
    "atexit.register": "atexit.unregister",
    "gc.callbacks.append": "gc.callbacks.remove",
    "os.register_at_fork": "",
    "sys.addaudithook": "",
    "threading._register_atexit": "",
}
# What puts a handler into the list of a logger, or a filter, with what takes it out again [docs: logging.Logger].
OF_LOGGERS: Final = {"addHandler": "removeHandler", "addFilter": "removeFilter"}
# What the interpreter calls by a name of a module, which is bound to one at a time [docs: sys, threading].
PROCESS_HOOKS: Final = frozenset("sys.excepthook sys.unraisablehook sys.displayhook threading.excepthook".split())

EVALUATION_WORDS: Final = (
    "eval",
    "valid",
    "test",
    "predict",
    "infer",
    "sample",
    "generate",
    "embed",
    "encode",
    "score",
    "transcri",
    "translat",
    "synthes",
    "diariz",
)
DTYPES: Final = frozenset(  # what `x.to(...)` may be given instead of a device
    """dtype float float16 float32 float64 half bfloat16 double int int8 int16 int32 int64 long short bool uint8
    complex64 complex128 float8_e4m3fn float8_e5m2""".split()
)
# Classes whose objects are processes [docs: multiprocessing].
PROCESSES: Final = ("Process", "SpawnProcess", "ForkProcess")
TO_DEVICE: Final = frozenset(
    """to cuda to_device send_to_device move_to_device move_data_to_device to_gpu to_cuda move_to_gpu
    move_to_cuda""".split()
)
# Methods of modules that give the module itself back.
GIVES_ITSELF: Final = frozenset("to cuda cpu half float bfloat16 double eval train requires_grad_".split())
# What draws an id that nothing else has [docs: uuid, secrets; `random_uuid` is vLLM's].
DRAWS_AN_ID: Final = frozenset(("uuid1", "uuid4", "uuid7", "token_hex", "random_uuid"))
CLOSERS: Final = frozenset(
    """release close remove remove_hooks remove_handles remove_handle __exit__ __del__ clear reset cleanup clean_up
    teardown detach unregister stop shutdown free clear_hooks""".split()
)
EVALUATION_NAMES: Final = frozenset(
    """eval evaluate evaluation validate validation valid val test predict prediction infer inference dev
    transcribe translate synthesize diarize""".split()
)
EVALUATORS: Final = frozenset(("evaluator", "predictor", "tester", "inferencer", "recognizer", "transcriber"))
# Methods that take something out of a list, deque, dictionary or set.
TAKES_OUT: Final = frozenset("clear pop popleft popitem remove discard difference_update intersection_update".split())
# What no list, deque or array has: a value that is asked for one of these keeps things in a way of its own.
NOT_OF_LISTS: Final = frozenset("mean last reset update average compute summary report state_dict reduce".split())
FROZEN_ROLES: Final = (
    "target", "teacher", "ema", "momentum_encoder", "shadow", "reference", "ref_model", "old_policy", "averaged",
    "key_encoder", "encoder_k", "frozen", "ref_policy", "prior_model",
)  # fmt: skip
MODEL_NAMES: Final = frozenset(
    """model net network generator discriminator encoder decoder backbone actor critic policy unet vae vqvae
    transformer classifier module student teacher q_net qnet q_network policy_net value_net target_net netG netD
    G D text_encoder image_encoder denoiser unet_model base_model""".split()
)
# What is moved to a device under these names is data, and no model.
DATA_NAMES: Final = frozenset(
    "frame frames image images img imgs clip clips video videos audio wav waveform waveforms spectrogram points".split()
)
# What makes tensors of images and files [docs: torchvision.transforms, torchvision.io]: classes and functions of
# transforms, and what reads pictures.
TO_TENSOR: Final = frozenset(("ToTensor", "PILToTensor", "ToImage"))
TO_TENSOR_CALLS: Final = frozenset(("to_tensor", "pil_to_tensor", "to_image"))
PICTURE_READERS: Final = frozenset(
    ("decode_image", "read_image", "decode_jpeg", "decode_png", "decode_gif", "decode_webp")
)
# What draws a picture or a sound, or writes it to a file [docs: torchvision.utils, torchvision.io, imageio, OpenCV,
# matplotlib, torch.utils.tensorboard].
PICTURE_WRITERS: Final = frozenset(
    "save_image imsave imwrite imshow write_png write_jpeg add_image add_images add_video add_audio".split()
)
# What the `forward` of models of transformers is given by keyword [docs of transformers: ModelOutput, BertModel].
MODEL_ARGUMENTS: Final = frozenset(
    "input_ids attention_mask past_key_values use_cache pixel_values inputs_embeds output_hidden_states".split()
)
# What loads a model of a package that nothing else is known of: not how its models are run [docs of each].
LOADS_A_MODEL: Final = frozenset(
    """torch.hub.load whisper.load_model clip.load open_clip.create_model_and_transforms spacy.load easyocr.Reader
    sentence_transformers.SentenceTransformer sentence_transformers.CrossEncoder faster_whisper.WhisperModel
    ultralytics.YOLO transformers.pipeline onnxruntime.InferenceSession keybert.KeyBERT stanza.Pipeline
    whisperx.load_model vllm.LLM llama_cpp.Llama TTS.api.TTS funasr.AutoModel""".split()
)
# Packages that run models in memory of their own [docs of each: CTranslate2, ONNX Runtime, llama.cpp, OpenVINO].
OTHER_ENGINES: Final = frozenset("faster_whisper ctranslate2 onnxruntime llama_cpp openvino".split())
PART_NAMES: Final = frozenset(
    """head heads embedding embeddings projector projection proj classifier_head prediction_head fc lm_head
    features feature_extractor bert roberta trunk stem body neck""".split()
)
CRITERION_NAMES: Final = ("criterion", "loss_fn", "loss_func", "lossfn", "loss_function", "objective", "compute_loss")
BUILTINS: Final = frozenset(
    """abs all any ascii bin bool bytes callable chr classmethod delattr dict dir divmod enumerate eval exec filter
    float format frozenset getattr globals hasattr hash hex id input int isinstance issubclass iter len list locals map
    max min next object oct open ord pow print property range repr reversed round set setattr slice sorted
    staticmethod str sum super tuple type vars zip""".split()
)
