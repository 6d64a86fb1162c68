"""Which releases of which frameworks are tried, and with which programs."""
import dataclasses


@dataclasses.dataclass
class Program:
    name: str  # samples/FRAMEWORK/NAME.py
    options: list  # of softgpu-run
    environment: dict = dataclasses.field(default_factory=dict)
    script: str = ""  # if it is not called by its name


@dataclasses.dataclass
class Release:
    framework: str
    version: str
    cuda: str
    wheels: list  # installed without their dependencies
    others: list  # and what they cannot do without, none of it NVIDIA's
    programs: list
    disk: str  # what it takes when installed
    download: str = ""  # where that is known


CARD = ["-m", "24G"]
TORCH_OTHERS = ["filelock", "fsspec", "jinja2", "networkx", "numpy", "setuptools", "sympy",
                "typing_extensions"]


def allocator(setting):
    # The second name is the one of newer releases.
    return {"PYTORCH_CUDA_ALLOC_CONF": setting, "PYTORCH_ALLOC_CONF": setting}


# What vramscope says of these is compared with what they say themselves: questions.py.
QUESTIONS = ["varying_lengths", "kept_losses", "kept_outputs", "full_pool", "greedy", "phases",
             "categories"]
QUESTIONS_CARD = "2G"

TORCH_PROGRAMS = [
    Program("mlp", CARD),
    Program("transformer", CARD),
    Program("convolutions", CARD),
    Program("mixed_precision", CARD),
    Program("accumulation", CARD),
    Program("out_of_memory", ["-m", "4G"]),
    Program("expandable", CARD, allocator("expandable_segments:True")),
    Program("async_allocator", CARD, allocator("backend:cudaMallocAsync")),
    Program("graphs", CARD),
    Program("loader", CARD),
    Program("two_devices", [*CARD, "-n", "2"]),
    Program("distributed", [*CARD, "-n", "2"]),
    # What no kernel wrote must not look like a number of found elements: memory reads as zero.
    Program("libraries", CARD, {"SOFTGPU_EXACT_BELOW": "0"}),
    Program("large", ["-m", "80G"]),
    *(Program(name, ["-m", QUESTIONS_CARD]) for name in QUESTIONS),
    *(Program(f"card_figures_{card}", ["-p", card], {"SOFTGPU_EXACT_BELOW": "0"}, "card_figures")
      for card in ("t4", "rtx4090", "a100-80g", "h100-80g", "b200")),
    Program("card_figures_workspace", ["-p", "a10"], {"SOFTGPU_CUDNN_WORKSPACE": "16777216"},
            "card_figures"),
]

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "1"}

TENSORFLOW_PROGRAMS = [
    Program("train", CARD, QUIET),
    Program("keras_fit", CARD, QUIET),
    Program("out_of_memory", ["-m", "4G"], QUIET),
    Program("async_allocator", CARD, QUIET | {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}),
]

JAX_PROGRAMS = [
    Program("train", CARD),
    Program("out_of_memory", ["-m", "4G"]),
    Program("allocators", CARD, {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}),
    Program("two_devices", [*CARD, "-n", "2"]),
]

# XLA of then refuses to capture work of cuBLAS in which nothing was launched, as it is on softgpu.
JAX_OLD_PROGRAMS = [
    Program("train_without_graphs", CARD, {"XLA_FLAGS": "--xla_gpu_enable_command_buffer="}, "train"),
    *JAX_PROGRAMS[1:],
]

# What the wheels name as their dependencies, but for what has to be older.
TENSORFLOW_OTHERS = ["absl-py", "astunparse", "flatbuffers", "gast", "google-pasta", "grpcio", "h5py",
                     "libclang", "opt_einsum", "packaging", "requests", "setuptools", "six",
                     "termcolor", "typing_extensions"]

JAX_OTHERS = ["ml_dtypes", "numpy", "opt_einsum", "scipy"]

# The newest of each when this was written, and one for CUDA 12.
RELEASES = [
    Release("torch", "2.15.0", "13", ["torch==2.15.0"], TORCH_OTHERS, TORCH_PROGRAMS,
            "1.4 GB", download="570 MB"),
    Release("torch", "2.8.0", "12", ["torch==2.8.0"], TORCH_OTHERS, TORCH_PROGRAMS,
            "1.9 GB"),
    Release("tensorflow", "2.21.0", "12", ["tensorflow==2.21.0"],
            [*TENSORFLOW_OTHERS, "keras", "ml_dtypes", "numpy", "protobuf", "wrapt"],
            TENSORFLOW_PROGRAMS, "2.1 GB"),
    Release("tensorflow", "2.19.1", "12", ["tensorflow==2.19.1"],
            [*TENSORFLOW_OTHERS, "keras<3.13", "ml_dtypes<0.6", "numpy<2.2", "protobuf<6",
             "tensorflow-io-gcs-filesystem", "wrapt<2"],
            TENSORFLOW_PROGRAMS, "2.1 GB"),
    Release("tensorflow", "2.15.1", "12", ["tensorflow==2.15.1"],
            [*TENSORFLOW_OTHERS, "keras<2.16", "ml_dtypes<0.4", "numpy<2", "protobuf<5",
             "tensorflow-estimator<2.16", "tensorflow-io-gcs-filesystem", "wrapt<1.15"],
            TENSORFLOW_PROGRAMS, "1.6 GB"),
    Release("jax", "0.10.2", "13", ["jax==0.10.2", "jaxlib==0.10.2", "jax-cuda13-plugin==0.10.2",
                                    "jax-cuda13-pjrt==0.10.2"],
            JAX_OTHERS, JAX_PROGRAMS, "1.0 GB"),
    Release("jax", "0.6.2", "12", ["jax==0.6.2", "jaxlib==0.6.2", "jax-cuda12-plugin==0.6.2",
                                   "jax-cuda12-pjrt==0.6.2"],
            JAX_OTHERS, JAX_OLD_PROGRAMS, "0.8 GB"),
]

# They carry NVIDIA's runtime, which no simulated driver satisfies: imported, not run (checked.py).
# Beside the wheels they need NVIDIA's Python packages for finding and binding libraries, but none of
# the libraries.
CHECKED = [
    Release("cupy", "14.2.0", "12", ["cupy-cuda12x==14.2.0", "cuda-pathfinder"],
            ["fastrlock", "numpy"], [], "0.4 GB"),
    Release("cupy", "13.4.1", "12", ["cupy-cuda12x==13.4.1"], ["fastrlock", "numpy"], [], "0.4 GB"),
    Release("rmm", "26.10.0", "12", ["rmm-cu12==26.10.0", "librmm-cu12==26.10.0", "rapids-logger",
                                     "cuda-bindings==12.9.2", "cuda-pathfinder"],
            ["numpy"], [], "0.2 GB"),
    Release("rmm", "25.4.0", "12", ["rmm-cu12==25.4.0", "librmm-cu12==25.4.0", "rapids-logger==0.1.1",
                                    "cuda-python==12.9.2", "cuda-bindings==12.9.2",
                                    "cuda-pathfinder"],
            ["numpy"], [], "0.2 GB"),
]
