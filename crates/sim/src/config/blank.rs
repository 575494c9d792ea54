//! A [`Config`] with placeholder values, before the defaults of the parameters are set.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Cycles, Time};

use super::parts::{
    AcceleratorConfig, AtmConfig, Balancing, Busy, CohortConfig, CoreConfig, DispatchPolicy,
    DispatcherConfig, ExceptionConfig, FactsConfig, FallBackWhen, FallbackTo, FlagChecks,
    Generation, Heaps, InterruptPolicy, Isolation, MemoryConfig, NetworkConfig, OwnSizes, Parking,
    PayloadConfig, ReliefConfig, Resubmission, Reuse, RpcProcessor, SchedulingConfig, ShapingOrder,
    SoftwareBalancing, TcpConfig, TenantConfig, TlbConfig,
};
use super::rates::{ONE_BYTE_PER_S, ONE_HERTZ};
use super::server::Config;

/// A configuration with placeholder values, before any default is set.
pub(super) fn blank() -> Config {
    Config {
        core: core(),
        accelerator: accelerator(),
        exception: ExceptionConfig {
            per_million: 0.0,
            handling: Time::ZERO,
            fall_back_share: 0.0,
        },
        scheduling: SchedulingConfig {
            policy: DispatchPolicy::Fifo,
        },
        tenant: TenantConfig {
            max_traces: 0,
            shaping_order: ShapingOrder::Asking,
            isolation: Isolation::Shared,
        },
        tcp: TcpConfig {
            timeout: Time::ZERO,
            parking: Parking::Traces,
        },
        dispatcher: dispatcher(),
        atm: AtmConfig {
            latency: Time::ZERO,
            ports: 1,
        },
        network: network(),
        memory: memory(),
        tlb: tlb(),
        relief: ReliefConfig {
            latency: Time::ZERO,
            occupancy: Time::ZERO,
            queue_entries: 0,
            deadline: 1.0,
            fallback: FallbackTo::Core,
            resubmission: Resubmission::Known,
        },
        cohort: cohort(),
        payload: PayloadConfig {
            compression_ratio: 1.0,
            heaps: Heaps::OfCores,
        },
        facts: facts(),
    }
}

fn core() -> CoreConfig {
    CoreConfig {
        count: 0,
        clock: ONE_HERTZ,
        enqueue: Time::ZERO,
        notice: Time::ZERO,
        context_switch: Time::ZERO,
        interrupt: Time::ZERO,
        submit: Time::ZERO,
        transform_per_kib: Time::ZERO,
        balancing: Balancing::LeastLoaded,
        software_balancing: SoftwareBalancing::Same,
        cold_code: Time::ZERO,
        function_map_depth: 1,
        time_slice: Time::ZERO,
        interrupt_policy: InterruptPolicy::Queued,
        notification: FlagChecks::Periodically,
        notice_period: Time::ZERO,
        wake: Time::ZERO,
        generation: Generation::IceLake,
        tax_gain: 0.0,
        system_gain: 0.0,
    }
}

fn accelerator() -> AcceleratorConfig {
    AcceleratorConfig {
        instances: 0,
        enqueue_attempts: 0,
        pes: 0,
        input_entries: 0,
        output_entries: 0,
        inline: Bytes(0),
        overflow_entries: 0,
        scratchpad_latency: Time::ZERO,
        scratchpad_bandwidth: ONE_BYTE_PER_S,
        scratchpad: Bytes(1),
        wipe_bandwidth: ONE_BYTE_PER_S,
        initial_bandwidth: ONE_BYTE_PER_S,
        service_state: Bytes(0),
        speedup_half: Bytes(0),
        rpc_message: Time::ZERO,
        rpc_processor: RpcProcessor::None,
        rpc_payload: Time::ZERO,
        rpc_payload_bandwidth: ONE_BYTE_PER_S,
        rpc_field: Time::ZERO,
        rpc_field_size: Bytes(1),
        rpc_schema_map_entries: 0,
        rpc_memory: Bytes(0),
        rpc_reservation_ratio: 0.0,
        rpc_retry_after: Time::ZERO,
        rpc_retries: 0,
        speedup: [1.0; Accel::MOST],
        reuse: Reuse::None,
        fallback: FallBackWhen::Full,
        reuse_speed: 1.0,
        own: [OwnSizes::default(); Accel::MOST],
    }
}

fn network() -> NetworkConfig {
    NetworkConfig {
        dma_engines: 0,
        dma_setup: Time::ZERO,
        hop: Cycles(0),
        link_bytes: 1,
        chiplets: 1,
        inter_chiplet: Cycles(0),
        inter_chiplet_bandwidth: ONE_BYTE_PER_S,
        notification: Cycles(0),
        entry_overhead: Bytes(0),
    }
}

fn memory() -> MemoryConfig {
    MemoryConfig {
        llc_slices: 1,
        llc_slice: Bytes(0),
        llc_ways: 1,
        llc: Cycles(0),
        llc_bytes: 1,
        snoop: Cycles(0),
        invalidate: Cycles(0),
        core_fill_bytes_per_s: 0,
        controllers: 1,
        dram_bandwidth: ONE_BYTE_PER_S,
        dram_latency: Time::ZERO,
        tenant_limit: None,
    }
}

fn tlb() -> TlbConfig {
    TlbConfig {
        entries: 1,
        ways: 1,
        hit: Cycles(0),
        page: Bytes(0),
        walkers: 1,
        walk_levels: 0,
        walk_cache_entries: 0,
        faults_per_million: 0,
        fault_service: Time::ZERO,
    }
}

fn dispatcher() -> DispatcherConfig {
    DispatcherConfig {
        plain: 0,
        branch: 0,
        load_atm: 0,
        end: 0,
        transform: 0,
        ipc: 1.0,
        busy: Busy::UntilConfirmed,
        transform_rate: None,
    }
}

fn facts() -> FactsConfig {
    FactsConfig {
        cache_miss: 0.0,
        cache_miss_where_common: 0.0,
        not_found: 0.0,
        write_exception: 0.0,
        rpc_exception: 0.0,
        other_form: 0.0,
    }
}

fn cohort() -> CohortConfig {
    CohortConfig {
        poll_period: Time::ZERO,
        poll: Time::ZERO,
        pop: Time::ZERO,
        push: Time::ZERO,
        engine: Time::ZERO,
        queue_entries: 0,
    }
}
