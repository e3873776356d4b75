import LiveActivityProviders
import LiveActivityServer

extension ServerParts.AppPeople {
    /// Returns the settings with which the HTTP API verifies tokens.
    func settings(_ connections: ProviderConnections) -> PeopleSettings {
        PeopleSettings(
            issuers: issuers, audience: audience, algorithms: algorithms, keys: keys(connections), user: user,
            leeway: leeway)
    }

    private func keys(_ connections: ProviderConnections) -> PeopleSettings.Keys {
        switch keys {
        case .fixed(let keys): return .fixed(keys)
        case .set(let url, let refresh, let allowPrivate):
            var limits = KeySetSchedule.Limits()
            if let refresh { limits.refresh = refresh }
            let address = DocumentAddress(
                url, allowPrivate: allowPrivate, maximumBytes: KeySet.maximumBytes, connections)
            return .set(
                KeySet(source: url, limits: limits) { () async throws(KeySet.FetchFailure) in
                    guard let address else { throw KeySet.FetchFailure("its URL is not allowed") }
                    do throws(DocumentAddress.Failure) {
                        let document = try await address.read()
                        return KeySet.Document(bytes: document.bytes, cacheControl: document.cacheControl)
                    } catch {
                        throw KeySet.FetchFailure(error.description)
                    }
                })
        }
    }
}
