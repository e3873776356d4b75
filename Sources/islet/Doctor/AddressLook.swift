import APNSModel
import EmbeddedIslet
import LiveActivityCore
import LiveActivityProviders
import LiveActivityServer

/// A check of the hosts that the server calls besides APNs: key sets, backends that compute states, and webhook
/// endpoints.
struct AddressLook {
    let settings: Settings
    let app: String?
    let isOffline: Bool
    let limit: Duration

    /// Checks all addresses concurrently, so each has the full time to answer.
    func facts() async -> [DoctorFacts.AddressFacts] {
        let looks = looks
        guard !isOffline else { return looks.map(\.facts) }
        let connections = ProviderConnections()
        var facts = await withTaskGroup(of: (Int, DoctorFacts.AddressFacts).self) { group in
            for (index, look) in looks.enumerated() {
                group.addTask {
                    var facts = look.facts
                    facts.outcome = await look.outcome(connections)
                    return (index, facts)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        connections.close()
        facts.sort { $0.0 < $1.0 }
        return facts.map(\.1)
    }

    private struct Look: Sendable {
        let facts: DoctorFacts.AddressFacts
        let url: String
        let allowPrivate: Bool
        let timeout: Duration

        func outcome(_ connections: ProviderConnections) async -> DoctorFacts.AddressFacts.Outcome {
            if facts.kind == .people { return await keySet(connections) }
            guard let check = AddressCheck(url, allowPrivate: allowPrivate, connections) else {
                return .place("its URL is not allowed")
            }
            do throws(AddressCheck.Problem) {
                try await check.run()
                return .good(nil)
            } catch {
                switch error {
                case .place(let problem): return .place(problem)
                case .unreachable(let problem): return .unreachable(problem)
                }
            }
        }

        private func keySet(_ connections: ProviderConnections) async -> DoctorFacts.AddressFacts.Outcome {
            guard
                let address = DocumentAddress(
                    url, allowPrivate: allowPrivate, maximumBytes: KeySet.maximumBytes, timeout: timeout,
                    connections)
            else { return .place("its URL is not allowed") }
            do throws(DocumentAddress.Failure) {
                let document = try await address.read()
                do throws(KeySet.FetchFailure) {
                    let (keys, passedOver) = try KeySet.count(in: document.bytes)
                    let others = passedOver > 0 ? ", and \(passedOver) that cannot be used" : ""
                    return .good("has \(Wording.count(keys, "key"))\(others)")
                } catch {
                    return .unreachable(error.description)
                }
            } catch {
                return .unreachable(error.description)
            }
        }
    }

    private var looks: [Look] {
        var looks: [Look] = []
        func add(
            _ kind: DoctorFacts.AddressFacts.Kind, _ app: BundleID, _ name: String, _ url: String,
            allowPrivate: Bool
        ) {
            guard self.app == nil || self.app == app.text else { return }
            let facts = DoctorFacts.AddressFacts(
                kind: kind, subject: "\(app)\(name.isEmpty ? "" : " \(name)")", origin: HTTPProvider.origin(of: url))
            looks.append(Look(facts: facts, url: url, allowPrivate: allowPrivate, timeout: limit))
        }
        for (app, people) in settings.people.sorted(by: { $0.key.text < $1.key.text }) {
            guard case .set(let url, _, let allowPrivate) = people.keys else { continue }
            add(.people, app, "", url, allowPrivate: allowPrivate)
        }
        for backend in settings.backends {
            let target = backend.target
            add(.provider, backend.app, backend.type, target.url, allowPrivate: target.allowPrivate)
        }
        for webhook in settings.webhooks {
            let target = webhook.target
            add(.webhook, webhook.key.app, webhook.key.name, target.url, allowPrivate: target.allowPrivate)
        }
        return looks
    }
}
