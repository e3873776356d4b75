import LiveActivityCore

extension SettingsBuilder {
    /// Returns the contract of the newest build, and the contracts of earlier builds, oldest first.
    func contracts(
        of activity: ConfigurationFile.Activity, _ place: String
    ) throws(ConfigurationError) -> (newest: Contract?, older: [OlderContract]) {
        if let path = activity.contract {
            guard activity.contracts == nil else {
                throw problem("\(place)/contracts", "give either `contract`, for all builds, or `contracts`")
            }
            return (try contract(path, "\(place)/contract", of: activity.attributesType), [])
        }
        guard let all = activity.contracts else { return (nil, []) }
        var newest: Contract?
        var older: [OlderContract] = []
        for (number, given) in all.enumerated() {
            let here = "\(place)/contracts/\(number)"
            let contract = try contract(given.file, "\(here)/file", of: activity.attributesType)
            guard let builds = given.builds else {
                guard newest == nil else {
                    throw problem(here, "two have no `builds`: only the contract of the newest build has none")
                }
                newest = contract
                continue
            }
            guard builds.hasPrefix("<"), let before = AppBuild(String(builds.dropFirst())) else {
                throw problem(
                    "\(here)/builds",
                    "`\(builds)` is not `<` and a build such as \"<120\": CFBundleVersion has numbers and dots")
            }
            guard !older.contains(where: { $0.before == before }) else {
                throw problem("\(here)/builds", "`\(builds)` is listed twice")
            }
            older.append(OlderContract(before: before, contract: contract))
        }
        guard newest != nil else {
            throw problem("\(place)/contracts", "one without `builds` is needed: the contract of the newest build")
        }
        return (newest, older.sorted { $0.before < $1.before })
    }

    private func contract(
        _ path: String, _ place: String, of attributesType: String
    ) throws(ConfigurationError) -> Contract {
        let contract: Contract
        do throws(ContractFileError) {
            contract = try ContractFile.read(resolve(path))
        } catch {
            throw problem(place, error.description)
        }
        guard contract.attributesType == attributesType else {
            throw problem(
                place,
                "the contract is of `\(contract.attributesType)`, the type's attributesType is "
                    + "`\(attributesType)`")
        }
        return contract
    }
}
