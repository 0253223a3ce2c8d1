"""What weighs, beside tensors: arrays, open files, models; and what the calls that autograd knows nothing of give."""

from __future__ import annotations

from typing import Any

from .holders import has_parameters
from .machine import Machine
from .values import COUNT, LIGHT, SCALAR, Light, Obj, Opaque, Tensor, Value

_ARRAYS = frozenset(
    """zeros ones empty full arange linspace array asarray ascontiguousarray load loadtxt genfromtxt fromfile
    frombuffer rand randn random random_sample normal uniform standard_normal randint integers stack concatenate
    vstack hstack copy fromiter tile repeat imread resize cvtColor imdecode zeros_like ones_like empty_like
    full_like read_csv read_parquet read_json read_excel read_feather read_hdf read_pickle DataFrame eye outer
    meshgrid permutation default_rng roll flip flipud fliplr rot90 pad where maximum minimum transpose moveaxis
    expand_dims broadcast_to cumsum einsum matmul rint fft rfft ifft irfft""".split()
)
_ARRAY_ROOTS = ("numpy", "cv2", "pandas", "imageio", "skimage", "scipy", "soundfile")
HANDLES = frozenset(
    """open builtins.open io.open h5py.File zipfile.ZipFile tarfile.open lmdb.open numpy.memmap np.memmap
    rasterio.open netCDF4.Dataset gzip.open lzma.open bz2.open sqlite3.connect subprocess.Popen tables.open_file
    cv2.VideoCapture decord.VideoReader av.open pyarrow.memory_map pyarrow.OSFile safetensors.safe_open mmap.mmap
    tifffile.TiffFile openslide.OpenSlide fitz.open nibabel.load xarray.open_dataset fsspec.open decord.AVReader
    torchcodec.decoders.VideoDecoder torchcodec.decoders.AudioDecoder torchvision.io.VideoReader soundfile.SoundFile
    imageio.get_reader imageio.v2.get_reader pandas.HDFStore""".split()
)
STACKS = ("contextlib.ExitStack", "contextlib.AsyncExitStack")  # lists of what is to be closed
NEW_EACH_TIME = frozenset(
    """uuid.uuid1 uuid.uuid4 uuid.uuid7 time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic
    secrets.token_hex secrets.token_urlsafe""".split()
)
_ARRAY_METHODS = frozenset(
    """copy astype reshape transpose ravel flatten convert crop resize view squeeze swapaxes repeat clip to_numpy
    random normal standard_normal uniform integers rotate""".split()
)
_ORDER = ("tensor", "array", "module", "handle", "bytes")


def heavy(machine: Machine, value: Value, depth: int = 3) -> tuple[str, int]:
    """What kind of heavy thing a value keeps alive, and how strong the evidence is; ("", 0) if none."""
    found: dict[str, int] = {}
    _weigh(value, depth, found, set())
    for word in _ORDER:
        if word in found:
            return word, found[word]
    return "", 0


def _weigh(value: Value, depth: int, found: dict[str, int], seen: set[int]) -> None:
    for atom in value:
        kind = type(atom)
        if kind is Tensor:
            if atom.size != SCALAR:
                found["tensor"] = max(found.get("tensor", 0), atom.weight)
        elif kind is Light and atom.what in _ORDER:
            found[atom.what] = 3
        elif kind is Opaque:
            found["tensor"] = max(found.get("tensor", 0), 1)
        elif kind is Obj and id(atom) not in seen and depth:
            seen.add(id(atom))
            if atom.kind == "module":
                if has_parameters(atom):
                    found["module"] = max(found.get("module", 0), atom.weight)
                continue
            for key, part in atom.fields.items():
                if part and key[0] != "$":
                    _weigh(part, depth - 1, found, seen)


def light(dotted: str) -> Value:
    """The result of a call that autograd knows nothing of: an array, a file, or next to nothing."""
    if dotted in HANDLES:
        return (Light("handle"),)
    head, _, tail = dotted.rpartition(".")
    if tail in _ARRAYS and head.split(".", 1)[0] in _ARRAY_ROOTS:
        return (Light("generator" if tail == "default_rng" else "array"),)
    if dotted == "PIL.Image.open":
        return (Light("array"),)
    return LIGHT


def light_method(atom: Any, name: str) -> Value:
    """A method of such a thing."""
    what = getattr(atom, "what", "")
    if what in ("array", "generator") and name in _ARRAY_METHODS:
        return (Light("array"),)
    if what == "handle" and name in ("reshape", "view", "ravel", "transpose", "__enter__"):
        return (atom,)  # of a memory map; and a file is its own context
    if what == "handle" and name == "read":
        return (Light("bytes"),)
    return (atom,) if atom == COUNT else LIGHT
