"""The rooms of the house and what each may include: one table, as the README's tour draws it."""

ALLOWED = {
    "base": set(),
    "page": {"base"},
    "kernels": {"base"},
    "comm": {"base"},
    "codec": {"base", "page", "kernels"},
    "model": {"base", "page", "kernels"},
    "stream": {"base", "page", "codec", "comm"},
    "spec": {"base", "page", "model"},
    "suite": {"base", "model"},
    "results": {"base"},
    "quality": {"base", "page", "kernels", "codec", "model"},
    "engine": {"base", "page", "kernels", "comm", "codec", "model", "stream", "spec", "suite", "results"},
    # Programs may use everything below them.
    "apps": {"base", "page", "kernels", "comm", "codec", "model", "stream", "spec", "suite", "results", "quality", "engine"},
}

# Vendor headers, and the files that may include them: the edges of the house.
VENDOR = {
    "mpi.h": ("comm/mpi*.cpp", "comm/world*.cpp"),
    "nccl.h": ("comm/nccl*.cpp",),
    "Kokkos_": ("kernels/cpu/*.cpp", "kernels/cpu/*.hpp"),
    "oneapi/dnnl": ("kernels/cpu/*.cpp", "kernels/cpu/*.hpp"),
    "dnnl": ("kernels/cpu/*.cpp", "kernels/cpu/*.hpp"),
    "hwy/": ("kernels/cpu/*",),
    "cuda": ("kernels/cuda/*", "comm/nccl*.cpp"),
    "cublas": ("kernels/cuda/*",),
    "hdf5": ("src/results/hdf5*.cpp", "src/results/hdf5_edge.hpp"),
    "yaml-cpp/": ("src/engine/config*.cpp",),
    "spdlog/": ("src/base/log.cpp",),
    "unicode/": ("src/model/*.cpp", "src/suite/*.cpp"),
    "xxhash.h": ("src/base/hash.cpp",),
    "CLI/": ("apps/*",),
}

MAX_LINES = 400
