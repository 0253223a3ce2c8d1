"""What names say to stand-ins: operations of PyTorch by what they do to a tensor, and names of tensors."""

from __future__ import annotations

PLAIN = frozenset(
    """grad_fn is_leaf grad requires_grad requires_grad_ detach detach_ untyped_storage storage data_ptr register_hook
    retain_grad _backward_hooks device dtype layout is_cuda is_cpu is_sparse is_floating_point is_complex is_quantized
    output_nr _version __hash__ data clone element_size is_meta is_inference is_nested retains_grad names type_as
    is_mkldnn is_contiguous _is_view is_mps is_xpu itemsize _base _cdata share_memory_ is_shared nbytes""".split()
)
VIEWS = frozenset(
    """__getitem__ view reshape squeeze unsqueeze transpose permute select narrow expand flatten T mT t view_as movedim
    swapaxes unflatten expand_as H mH real diagonal""".split()
)
COPIES = frozenset("cpu cuda to float half double bfloat16 contiguous type long int bool".split())
JOINS = frozenset("cat concat concatenate stack hstack vstack dstack row_stack column_stack".split())
INDICES = frozenset("argmax argmin multinomial".split())
INPLACE = frozenset("__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __setitem__ __ipow__".split())
WITHOUT_GRAPH = frozenset(
    """__lt__ __le__ __gt__ __ge__ __eq__ __ne__ lt le gt ge eq ne argmax argmin argsort isnan isinf isfinite isclose
    multinomial nonzero count_nonzero unique one_hot bincount searchsorted bucketize logical_and logical_or
    logical_not logical_xor any all randint_like rand_like randn_like zeros_like ones_like full_like empty_like
    new_zeros new_ones new_full new_tensor new_empty randperm""".split()
)  # indices, masks, and new tensors that are only shaped like others
PAIRS = frozenset("topk sort kthvalue mode cummax cummin".split())  # values, and indices that have no graph
PAIRS_BY_DIMENSION = frozenset("max min median".split())
LOSSES = frozenset(("mean", "sum", "norm", "cross_entropy", "nll_loss", "kl_div", "binary_cross_entropy_with_logits"))
MODELS = frozenset(
    """forward model net network module encoder decoder backbone head layer layers block blocks conv linear lstm gru rnn
    embedding embeddings unet vae transformer attention attn mlp classifier generator discriminator actor critic policy
    loss losses criterion objective""".split()
)  # ... and what makes them: the last word of its name
TENSORS = frozenset(("loss", "losses", "embedding", "embeddings"))  # of MODELS: what their results are called, too
LASTING = frozenset("optimizer optim opt scheduler trainer engine bus registry hub tracker logger".split())
SILENT = frozenset(
    """step zero_grad train eval log info debug warning error print write add_scalar add_scalars close save
    set_description set_postfix set_postfix_str barrier synchronize empty_cache log_dict add_image add_histogram
    register_buffer register_parameter add_module flush wait""".split()
)
# Names of tensors: of what data consist of, and of what models make of them.
DATA = frozenset(
    """x y z input inputs batch image images img imgs data target targets label labels mask masks input_ids tokens
    attention_mask query key value audio video frames frame sample samples points tensor tensors latents latent noise
    obs observation observations next_observations reward rewards action actions dones state states""".split()
)
COMPUTED = frozenset(
    """logits hidden loss losses output outputs pred preds prediction predictions features feature embeddings embedding
    hidden_states""".split()
)
