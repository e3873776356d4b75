import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityProviders
import LiveActivityServer

extension SettingsBuilder {
    /// Returns the sign-in of an app's people. Returns `nil` if there is none, or after recording a problem in it.
    func people(_ given: ConfigurationFile.People?, _ place: String) -> ServerParts.AppPeople? {
        guard let given else { return nil }
        return problems.noting { () throws(ConfigurationError) in try self.people(given, place) }
    }

    private func people(
        _ given: ConfigurationFile.People, _ place: String
    ) throws(ConfigurationError) -> ServerParts.AppPeople {
        guard !given.issuers.isEmpty, !given.issuers.contains("") else {
            throw problem("\(place)/issuers", "at least one issuer is needed, as tokens name it in `iss`")
        }
        guard !given.audience.isEmpty else { throw problem("\(place)/audience", "the value is empty") }
        let allowed = try algorithms(given.algorithms, "\(place)/algorithms")
        let keys = try keys(given, place)
        if case .fixed(let keys) = keys, let unused = keys.first(where: { allowed?.contains($0.algorithm) == false }) {
            throw problem(
                "\(place)/algorithms", "there is a key for \(unused.algorithm.rawValue), which is not listed")
        }
        let pointer = try given.user.map { text throws(ConfigurationError) in
            try PolicyBuilder(file: file, problems: problems).pointer(text, "\(place)/user")
        }
        let leeway = given.leeway?.duration ?? PeopleSettings.standardLeeway
        guard (.zero...(.seconds(600))).contains(leeway) else { throw problem("\(place)/leeway", "from 0s to 10m") }
        return ServerParts.AppPeople(
            issuers: given.issuers, audience: given.audience, algorithms: allowed ?? Set(TokenAlgorithm.allCases),
            keys: keys, user: pointer ?? PeopleSettings.standardUser, leeway: leeway)
    }

    /// Records a problem for apps with the same audience and a common issuer, because a token would not say which app
    /// it is for.
    func checkAmbiguity(_ people: [(place: String, people: ServerParts.AppPeople)]) {
        for (index, later) in people.enumerated() {
            for earlier in people[..<index] where earlier.people.audience == later.people.audience {
                guard !Set(earlier.people.issuers).isDisjoint(with: later.people.issuers) else { continue }
                problems.note(
                    problem(
                        "\(later.place)/audience",
                        "\(earlier.place) has the same audience and issuer: a token would not say which app it is for"))
            }
        }
    }

    private func algorithms(
        _ names: [String]?, _ place: String
    ) throws(ConfigurationError) -> Set<TokenAlgorithm>? {
        guard let names else { return nil }
        let algorithms = names.map(TokenAlgorithm.init)
        guard !names.isEmpty, !algorithms.contains(nil) else {
            let known = TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw problem(place, "a list of \(known)")
        }
        return Set(algorithms.compactMap(\.self))
    }

    // MARK: - Keys

    private func keys(
        _ given: ConfigurationFile.People, _ place: String
    ) throws(ConfigurationError) -> ServerParts.AppPeople.Keys {
        switch (given.secretFile, given.secretEnvironment, given.keyFile, given.jwks) {
        case (let path?, nil, nil, nil):
            return .fixed(try secrets(try text(ofFile: path, "\(place)/secretFile"), "\(place)/secretFile"))
        case (nil, let name?, nil, nil):
            guard Self.isVariable(name) else {
                throw problem(
                    "\(place)/secretEnvironment", "give the name of an environment variable, not the secret itself")
            }
            guard let text = environment[name], !text.isEmpty else {
                throw problem("\(place)/secretEnvironment", "the environment variable \(name) is not set")
            }
            return .fixed(try secrets(text, "\(place)/secretEnvironment"))
        case (nil, nil, let path?, nil):
            return .fixed(try publicKeys(try text(ofFile: path, "\(place)/keyFile"), "\(place)/keyFile"))
        case (nil, nil, nil, let jwks?): return try keySet(jwks, "\(place)/jwks")
        default: throw problem(place, "give one of secretFile, secretEnvironment, keyFile and jwks")
        }
    }

    private func text(ofFile path: String, _ place: String) throws(ConfigurationError) -> String {
        // The message does not quote the path: it may be the secret itself.
        guard !path.contains("-----BEGIN"), !path.contains(where: \.isNewline), path.utf8.count < 4096 else {
            throw problem(place, "give the path of a file, not its contents")
        }
        guard let data = FileManager.default.contents(atPath: resolve(path)) else {
            throw problem(place, "the file cannot be read")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func secrets(_ text: String, _ place: String) throws(ConfigurationError) -> [PersonTokenKey] {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        guard !lines.isEmpty else { throw problem(place, "the secret is empty") }
        var keys: [PersonTokenKey] = []
        for line in lines {
            do throws(TokenKeyError) {
                keys.append(try PersonTokenKey(secret: Array(line.utf8)))
            } catch {
                throw problem(place, "\(error) (openssl rand -base64 32)")
            }
        }
        return keys
    }

    private func publicKeys(_ text: String, _ place: String) throws(ConfigurationError) -> [PersonTokenKey] {
        let end = "-----END PUBLIC KEY-----"
        let blocks = text.components(separatedBy: end).dropLast()
        guard !blocks.isEmpty, !text.contains("PRIVATE KEY") else {
            throw problem(place, "no public key in PEM form (-----BEGIN PUBLIC KEY-----), or a private one")
        }
        var keys: [PersonTokenKey] = []
        for (index, block) in blocks.enumerated() {
            do throws(TokenKeyError) {
                keys.append(try PersonTokenKey(pem: block.trimmingCharacters(in: .whitespacesAndNewlines) + "\n" + end))
            } catch {
                throw problem(place, "key \(index + 1): \(error)")
            }
        }
        return keys
    }

    private func keySet(
        _ given: ConfigurationFile.JWKS, _ place: String
    ) throws(ConfigurationError) -> ServerParts.AppPeople.Keys {
        let allowPrivate = given.allowPrivate ?? false
        try checkTarget(given.url, allowPrivate: allowPrivate, place)
        let limits = KeySetSchedule.Limits()
        if let refresh = given.refresh?.duration {
            guard (limits.shortestRefresh...limits.longestRefresh).contains(refresh) else {
                throw problem("\(place)/refresh", "from 1m to 1d")
            }
        }
        return .set(url: given.url, refresh: given.refresh?.duration, allowPrivate: allowPrivate)
    }
}
