"""The categories of Tables 2 and 3 of the Accelerometer paper, with the suggestions of Table 4."""

from enum import StrEnum
from typing import Final

#: The category of stacks that no rule claims. It includes the paper's "miscellaneous" leaves.
OTHER: Final = "other"


class Leaf(StrEnum):
    """Categories by the work of a stack's innermost function (Accelerometer, Table 2)."""

    MEMORY = "memory"
    KERNEL = "kernel"
    HASHING = "hashing"
    SYNCHRONIZATION = "synchronization"
    ZSTD = "zstd"
    MATH = "math"
    SSL = "ssl"
    C_LIBRARIES = "c_libraries"


class Functionality(StrEnum):
    """Categories by the purpose of a whole stack (Accelerometer, Table 3)."""

    IO = "secure_and_insecure_io"
    IO_PROCESSING = "io_processing"
    COMPRESSION = "compression"
    SERIALIZATION = "serialization"
    FEATURE_EXTRACTION = "feature_extraction"
    PREDICTION = "prediction_ranking"
    APPLICATION = "application_logic"
    LOGGING = "logging"
    THREAD_POOL = "thread_pool_management"


#: The parts of leaf categories that Figs. 3 and 5 to 7 show, as the paper's text names them.
#: Functions that no rule claims are in a further part, `other`.
PARTS: Final = {
    Leaf.MEMORY: ("copy", "free", "allocation", "move", "set", "compare"),
    Leaf.KERNEL: (
        "scheduler",
        "events",
        "network",
        "memory_management",
        "interrupts",
        "synchronization",
    ),
    Leaf.SYNCHRONIZATION: ("atomics", "mutex", "compare_exchange", "spin_lock"),
    Leaf.C_LIBRARIES: ("vectors", "strings", "hash_tables", "search", "trees"),
}

#: The categories of a service's core work; all others are orchestration (Fig. 1). In ML services,
#: section 2.4 calls all but inference orchestration, including feature extraction.
CORE: Final = (Functionality.APPLICATION, Functionality.PREDICTION)

#: Optimisations that the paper's Table 4 suggests, for the categories that it names.
OPPORTUNITIES: Final = {
    Leaf.MEMORY: "dense copies by SIMD, copies in DRAM, I/O AT, DMA; faster frees",
    Leaf.KERNEL: "coalesced I/O, user-space drivers, in-line accelerators, kernel bypass",
    Leaf.SYNCHRONIZATION: "thread pool tuning, TSX, coalesced I/O, vDSO",
    Leaf.ZSTD: "bit-plane or buddy compression, compression hardware",
    Functionality.IO: "kernel bypass, multi-queue NICs, RDMA-style notification",
    Functionality.COMPRESSION: "bit-plane or buddy compression, compression hardware",
    Functionality.LOGGING: "smaller and fewer log updates",
    Functionality.THREAD_POOL: "thread pool tuning and scheduling",
}
