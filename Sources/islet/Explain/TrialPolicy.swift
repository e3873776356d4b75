import JSONText
import LiveActivityCore
import LiveActivityServer

/// The policy that results when keys of a configuration replace those of a present policy.
enum TrialPolicy {
    /// Returns the resulting policy.
    ///
    /// - Throws: Every problem in the keys, with the messages of `islet config check`.
    static func policy(
        _ present: JSONObject, _ change: JSONObject
    ) throws(PolicyTrials.Faults) -> TypePolicy {
        let names = Set(ConfigurationKey.policy.map(\.name))
        let strangers = change.keys.filter { !names.contains($0) }.sorted()
        var faults = strangers.map { name in
            PolicyTrials.Fault(pointer: JSONPointer(tokens: [name]).description, problem: "a policy has no such key")
        }
        var known = change
        for name in strangers { known[name] = nil }
        let problems = ConfigurationProblems()
        let (words, unread) = ConfigurationLoader.decode(
            ConfigurationFile.Policy.self, .object(present.merged(with: known)), file: "")
        faults += unread.map(Self.fault)
        let builder = PolicyBuilder(file: "", problems: problems)
        let policy = problems.noting { () throws(ConfigurationError) in
            let policy = try builder.policy(words, "")
            if words != nil { try builder.checkStart(policy, "") }
            return policy
        }
        // A key that could not be read is now missing. That is not a second problem.
        let places = Set(faults.map(\.pointer))
        faults += problems.all.map(Self.fault).filter { !places.contains($0.pointer) }
        guard faults.isEmpty, let policy else { throw PolicyTrials.Faults(faults) }
        return policy
    }

    private static func fault(_ error: ConfigurationError) -> PolicyTrials.Fault {
        PolicyTrials.Fault(pointer: error.pointer, problem: error.problem)
    }
}

extension PolicyTrials {
    /// Policy trials as `islet serve` runs them.
    static let played = PolicyTrials(
        policy: { present, change throws(Faults) in try TrialPolicy.policy(present, change) },
        play: { trial in
            try await TrialStore.with { store in
                var run = TrialRun(store: store, trial)
                return try await run.run()
            }
        })
}
