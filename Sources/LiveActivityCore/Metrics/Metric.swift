/// All metrics. `docs/metrics.md` has the table.
///
/// Labels never contain a token, a key or an id other than an app's bundle id. Other values are an environment, the
/// name of a configured type or webhook, or a word from a fixed list.
package enum Metric: String, Sendable, CaseIterable {
    case deliveries = "islet_deliveries_total"
    case deliveryLag = "islet_delivery_lag_seconds"
    case deliveryFailedLag = "islet_delivery_failed_lag_seconds"
    case pushAnswer = "islet_push_answer_seconds"
    case flightsOpen = "islet_flights_open"
    case pushesInFlight = "islet_pushes_in_flight"
    case queueAge = "islet_queue_age_seconds"
    case queueDepth = "islet_queue_depth"
    case retries = "islet_retries_total"
    case tokensDead = "islet_tokens_dead_total"
    case budgetLeft = "islet_budget_left_ratio"

    case confirmations = "islet_confirmations_total"
    case startConfirmation = "islet_start_confirmation_seconds"
    case startsAbsent = "islet_starts_absent_total"
    case opens = "islet_opens_total"
    case startsPutOff = "islet_starts_put_off_total"
    case startsOpen = "islet_starts_open"
    case devices = "islet_devices"

    case channelCalls = "islet_channel_calls_total"
    case channelsInUse = "islet_channels_in_use"
    case configurationRefused = "islet_configuration_refused"
    case channelQueueAge = "islet_channel_queue_age_seconds"

    case refreshes = "islet_refreshes_total"
    case providerAnswer = "islet_provider_answer_seconds"

    case webhookCalls = "islet_webhook_calls_total"
    case webhookWaiting = "islet_webhook_waiting"
    case webhookBehind = "islet_webhook_behind"
    case webhookDead = "islet_webhook_dead"
    case webhookOff = "islet_webhook_off"
    case eventStreams = "islet_event_streams"
    case eventsSent = "islet_events_sent_total"

    case storeCommits = "islet_store_commits_total"
    case storeCommands = "islet_store_commands_total"
    case storeGroupSize = "islet_store_group_size"
    case storeCommitSeconds = "islet_store_commit_seconds"
    case storeWaiting = "islet_store_waiting"
    case storeStatements = "islet_store_statements_total"
    case storeRowsWritten = "islet_store_rows_written_total"
    case storeBytesWritten = "islet_store_bytes_written_total"
    case storeErasedRows = "islet_store_erased_rows_total"
    case storeDamagedRows = "islet_store_damaged_rows_total"
    case storeFailures = "islet_store_failures_total"
    case storeWriting = "islet_store_writing_seconds"

    case httpRequests = "islet_http_requests_total"
    case httpRequestSeconds = "islet_http_request_seconds"

    case apnsConnections = "islet_apns_connections"
    case apnsStreams = "islet_apns_streams_in_use"
    case apnsStreamLimit = "islet_apns_streams_limit"
    case apnsQueued = "islet_apns_pushes_queued"
    case apnsClockSkew = "islet_apns_clock_skew_seconds"
    case apnsTrouble = "islet_apns_trouble_seconds"

    case alertsFiring = "islet_alerts_firing"

    // Metrics of every process have the names that dashboards expect.
    case buildInfo = "islet_build_info"
    case residentBytes = "process_resident_memory_bytes"
    case cpuSeconds = "process_cpu_seconds_total"
    case openFiles = "process_open_fds"
    case startTime = "process_start_time_seconds"

    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package var name: String { rawValue }

    package var kind: Kind {
        switch self {
        case .deliveries, .refreshes, .webhookCalls, .eventsSent, .storeCommits, .storeCommands, .storeStatements,
            .storeRowsWritten, .storeBytesWritten, .storeErasedRows, .storeDamagedRows, .httpRequests, .cpuSeconds,
            .retries, .tokensDead, .confirmations, .startsAbsent, .startsPutOff, .opens, .storeFailures,
            .channelCalls:
            .counter
        case .deliveryLag, .deliveryFailedLag, .pushAnswer, .budgetLeft, .startConfirmation, .providerAnswer,
            .storeGroupSize, .storeCommitSeconds, .httpRequestSeconds:
            .histogram
        case .flightsOpen, .pushesInFlight, .queueAge, .queueDepth, .startsOpen, .devices, .webhookWaiting,
            .webhookBehind, .webhookDead, .webhookOff, .eventStreams, .storeWaiting, .storeWriting, .apnsConnections,
            .apnsStreams,
            .apnsStreamLimit, .apnsQueued, .apnsClockSkew, .apnsTrouble, .alertsFiring, .buildInfo, .residentBytes,
            .openFiles, .startTime, .channelsInUse, .channelQueueAge, .configurationRefused:
            .gauge
        }
    }

    /// Label names, in the order of a series's values.
    package var labels: [String] {
        switch self {
        case .deliveries: ["app", "environment", "kind", "verdict", "reason"]
        case .deliveryLag, .deliveryFailedLag, .pushAnswer, .apnsConnections, .apnsStreams, .apnsStreamLimit,
            .apnsQueued, .apnsClockSkew:
            ["environment"]
        case .apnsTrouble, .channelsInUse: ["app", "environment"]
        case .channelCalls: ["app", "environment", "kind", "outcome"]
        case .queueDepth, .storeFailures: ["work"]
        case .retries: ["app", "reason"]
        case .tokensDead: ["app", "token", "reason"]
        case .budgetLeft: ["app", "budget"]
        case .confirmations: ["app", "outcome"]
        case .startConfirmation, .startsAbsent, .startsPutOff, .opens: ["app", "type"]
        case .alertsFiring: ["alert", "severity"]
        case .refreshes: ["app", "type", "outcome"]
        case .providerAnswer: ["app", "type"]
        case .webhookCalls: ["app", "webhook", "outcome"]
        case .webhookWaiting, .webhookBehind, .webhookDead, .webhookOff: ["app", "webhook"]
        case .eventsSent, .devices: ["app"]
        case .storeCommands: ["rank"]
        case .storeErasedRows: ["table"]
        case .httpRequests: ["route", "method", "status"]
        case .httpRequestSeconds: ["route"]
        case .buildInfo: ["version"]
        case .configurationRefused, .flightsOpen, .pushesInFlight, .queueAge, .startsOpen, .eventStreams, .storeCommits,
            .storeGroupSize, .storeCommitSeconds, .storeWaiting, .storeStatements, .storeRowsWritten,
            .storeBytesWritten,
            .storeDamagedRows, .storeWriting, .residentBytes, .cpuSeconds, .openFiles, .startTime, .channelQueueAge:
            []
        }
    }

    /// Upper bounds of a histogram's buckets; empty for other kinds. The unit is seconds unless the name says
    /// otherwise.
    package var bounds: [Double] {
        switch self {
        case .deliveryLag, .deliveryFailedLag:
            [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800]
        case .budgetLeft: [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
        case .startConfirmation: [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200]
        case .providerAnswer: [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
        case .pushAnswer: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 12]
        case .storeGroupSize: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
        case .storeCommitSeconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
        case .httpRequestSeconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
        default: []
        }
    }

    package var help: String {
        switch self {
        case .deliveries: "Pushes whose outcome is known, by verdict and by reason."
        case .deliveryLag: "Time from the commit of a state to APNs's first acceptance for a phone."
        case .deliveryFailedLag:
            "Time from the commit of a state to the end of a failed attempt that another may follow, for a phone."
        case .pushAnswer:
            "Time from handing a push to the client to APNs's answer, including the wait for a free stream."
        case .flightsOpen: "Flights that are claimed and not completely settled."
        case .pushesInFlight: "Pushes handed to the client whose outcome is not known."
        case .queueAge: "Time that the earliest due work has waited to be claimed; 0 when nothing is due."
        case .queueDepth: "Work that is due and not claimed; at most 100000 of each kind are counted."
        case .retries: "Failed or unanswered pushes that are tried again, by reason."
        case .tokensDead: "Push tokens that APNs has refused for good, by kind and reason."
        case .budgetLeft: "Share of a phone's budget that a push left, of what the phone may get at once; 1 is all."
        case .confirmations: "Reports of what a card shows that could be compared with what was sent."
        case .startConfirmation: "Time from the claim of a start to the phone's report of its card."
        case .opens: "Times that people opened the app by a card, as phones report it."
        case .startsAbsent: "Starts whose cards are missing in an inventory that the phone sent after they expired."
        case .startsPutOff: "Starts that wait because the phone's start budget is used up."
        case .startsOpen: "Starts whose cards no phone has reported; at most 100000 are counted."
        case .devices: "Known devices, including those that are signed out."
        case .channelCalls: "Calls about broadcast channels, by kind and outcome."
        case .configurationRefused: "1 while an older configuration goes on because the last reload was refused."
        case .channelsInUse: "Broadcast channels that APNs has of an app, by its last list."
        case .channelQueueAge: "Time that the earliest due work on a channel has waited; 0 when nothing is due."
        case .refreshes: "Computations of what one person should see, by outcome."
        case .providerAnswer: "Time from asking a provider to its answer, or to the end of the wait for it."
        case .webhookCalls: "Calls that sent an event to an endpoint, by outcome."
        case .webhookWaiting:
            "Events that an endpoint has not accepted yet, or that wait behind one of the same activity."
        case .webhookBehind: "Events, of all apps, that are newer than every event the endpoint was sent."
        case .webhookDead: "Events whose delivery was given up and that were neither replayed nor discarded."
        case .webhookOff: "1 if an endpoint is disabled until somebody enables it."
        case .eventStreams: "Open event streams."
        case .eventsSent: "Events sent to event streams."
        case .storeCommits: "Committed transactions."
        case .storeCommands: "Commands in committed transactions: write (calls), settle, claim, prune."
        case .storeGroupSize: "Commands in one transaction."
        case .storeCommitSeconds: "Time from the begin of a transaction to its commit, including the sync of the disk."
        case .storeWaiting: "Commands that wait to be written."
        case .storeStatements: "SQL statements run, on any connection."
        case .storeRowsWritten: "Rows that committed transactions inserted, changed or deleted."
        case .storeBytesWritten: "Bytes that committed transactions wrote to the log of the database."
        case .storeErasedRows: "Rows that clean-up erased, by table."
        case .storeDamagedRows: "Rows of due work that could not be read, and were skipped or put off for a minute."
        case .storeFailures: "Reads and transactions (write) that the database failed."
        case .storeWriting: "Time that the current transaction has been in progress; 0 when there is none."
        case .httpRequests: "Requests answered, by route template. A request that matches no route is `none`."
        case .httpRequestSeconds: "Time from the head of a request to its answer."
        case .apnsConnections: "Connections to APNs that take pushes."
        case .apnsStreams: "Pushes on a connection that have no answer yet."
        case .apnsStreamLimit: "Pushes that APNs allows at once on the open connections."
        case .apnsQueued: "Pushes that wait in the client to be sent."
        case .apnsClockSkew: "Time by which APNs's clock is ahead of this machine's, by its last answer."
        case .apnsTrouble:
            "Time that pushes have been held back because APNs, a connection or the key fails; 0 while all is well."
        case .alertsFiring: "Alerts that fire in the server's own evaluation."
        case .buildInfo: "Always 1; the label names the server's version."
        case .residentBytes: "Resident memory of the process."
        case .cpuSeconds: "CPU time of the process, user and system."
        case .openFiles: "Open file descriptors of the process."
        case .startTime: "Start of the process, in seconds since 1970."
        }
    }
}
