import JSONText

/// Contract of the app's builds before `before`.
package struct OlderContract: Sendable, Equatable {
    package let before: AppBuild
    package let contract: Contract

    package init(before: AppBuild, contract: Contract) {
        self.before = before
        self.contract = contract
    }
}

extension ActivityType {
    /// Returns the contract of a device's build; `nil` if it is the newest one.
    package func olderContract(of build: String?) -> Contract? {
        guard !olderContracts.isEmpty, let build = build.flatMap(AppBuild.init) else { return nil }
        return olderContracts.first { build < $0.before }?.contract
    }

    /// Returns the builds that could not decode a state that fits the newest contract.
    func unfitBuilds(state: JSONObject) -> [BuildRange] { unfitBuilds { $0.decodes(state: state) } }

    /// Returns the builds that could not decode attributes that fit the newest contract.
    func unfitBuilds(attributes: EncodedObject) -> [BuildRange] {
        guard !olderContracts.isEmpty, let object = (try? JSONValue(parsing: attributes.bytes))?.object else {
            return []
        }
        return unfitBuilds { $0.decodes(attributes: object) }
    }

    private func unfitBuilds(_ fits: (Contract) -> Bool) -> [BuildRange] {
        var ranges: [BuildRange] = []
        var from: AppBuild?
        for older in olderContracts {
            if !fits(older.contract) { ranges.append(BuildRange(from: from, before: older.before)) }
            from = older.before
        }
        return ranges
    }
}
