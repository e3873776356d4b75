import APNSClient
import APNSModel
import EmbeddedIslet
import JSONText
import LiveActivityCore
import LiveActivityServer
import StorageSQL
import StorageSQLite

/// A gatherer of the facts that `islet doctor` needs. It changes nothing.
struct FactGatherer {
    var time = APNSClient.liveTime
    var dice: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

    /// Maximum time for TCP, for TLS, and for the answer to a push, each.
    private static let timeLimit = Duration.seconds(10)

    /// The keys to check: all that match.
    struct Scope {
        var app: String?
        var environment: APNSEnvironment?
        var isOffline = false

        func covers(_ key: Settings.KeySettings) -> Bool {
            (app == nil || key.app.text == app) && (environment == nil || key.environment == environment)
        }
    }

    /// Returns the facts. Problems are among them, so this method does not throw.
    func facts(of examination: ConfigurationLoader.Examination, file: String, _ scope: Scope) async -> DoctorFacts {
        let begin = time.monotonic()
        var facts = DoctorFacts(clock: .init(wall: time.wall()), isOffline: scope.isOffline)
        facts.configuration = .init(file: file)
        var problems = examination.problems
        if let settings = examination.settings {
            problems += ConfigurationCheck.trustRoots(settings, file: file)
            facts.database = database(settings)
            let report = ConfigurationReport(settings: settings, variables: examination.variables, files: .machine)
            // The database has findings of its own, so its warnings are left out here.
            facts.configuration.warnings = report.warnings.filter { !$0.hasPrefix("/storage") }
            if let look = facts.database?.look { facts.contracts = await DriftLook.facts(settings, look) }
            facts.certificateEndsAt = settings.certificates?.expiresAt
            let onChannels = Set(settings.apps.filter(\.hasChannels).map(\.bundleID))
            for key in settings.keys where scope.covers(key) {
                facts.routes.append(await route(key, usesChannels: onChannels.contains(key.app), scope))
            }
        }
        if let settings = examination.settings {
            facts.addresses = await AddressLook(
                settings: settings, app: scope.app, isOffline: scope.isOffline, limit: Self.timeLimit
            ).facts()
        }
        facts.configuration.problems = problems.map {
            ConfigurationCheck.words($0, text: examination.text, file: file)
        }
        facts.clock.monotonicAdvances = time.monotonic() > begin
        return facts
    }

    private func database(_ settings: Settings) -> DoctorFacts.DatabaseFacts {
        switch settings.database {
        case .sqlite(let path):
            return .init(path: path, look: .file(DatabaseInspection(of: path, tokenKeys: settings.tokenKeys)))
        case .postgres:
            let look = settings.database.look(tokenKeys: settings.tokenKeys) { time.wall() }
            return .init(
                path: settings.database.description, look: .server(look), needsStandby: settings.needsStandby)
        }
    }

    private func route(
        _ settings: Settings.KeySettings, usesChannels: Bool, _ scope: Scope
    ) async -> DoctorFacts.RouteFacts {
        var facts = DoctorFacts.RouteFacts(
            app: settings.app, environment: settings.environment, key: settings.key.description,
            endpoint: settings.route.endpoint.description)
        facts.usesChannels = usesChannels
        do throws(ProviderKeyError) {
            _ = try settings.key.makeToken(issuedAt: time.wall())
        } catch {
            facts.signingProblem = error.description
        }
        guard !scope.isOffline else { return facts }
        let probe = await EndpointProbe.report(
            on: settings.route.endpoint, trustRoots: settings.route.trustRoots, limit: Self.timeLimit)
        facts.probe = probe
        guard probe.failure == nil, facts.signingProblem == nil else { return facts }
        (facts.push, facts.skew) = await push(settings)
        if usesChannels { facts.channels = await channels(settings) }
        return facts
    }

    /// Returns the number of the app's broadcast channels.
    private func channels(_ settings: Settings.KeySettings) async -> Result<Int, BroadcastError> {
        var options = APNSClient.Options()
        options.connectTimeout = Self.timeLimit
        let client: APNSClient
        do {
            client = try APNSClient(routes: [settings.route], time: time, options: options)
        } catch {
            return .failure(BroadcastError(.cannotConnect, "\(error)"))
        }
        let result: Result<Int, BroadcastError>
        do throws(BroadcastError) {
            let ids = try await client.listChannels(
                of: settings.app, in: settings.environment, within: Self.timeLimit)
            result = .success(ids.count)
        } catch {
            result = .failure(error)
        }
        await client.shutdown(within: .seconds(1))
        return result
    }

    /// Returns the skew by the answer's `date`, which has whole seconds.
    private static func skew(_ result: Result<PushAnswer, PushFailure>, at now: UnixTime) -> Duration? {
        guard case .success(let answer) = result else { return nil }
        return answer.date.map { $0 - UnixTime(seconds: now.seconds) }
    }

    /// Sends a push that reaches nobody: a token of zeros, low priority, no storage, an empty state.
    private func push(_ settings: Settings.KeySettings) async -> (Result<PushAnswer, PushFailure>, Duration?) {
        var options = APNSClient.Options()
        options.connectTimeout = Self.timeLimit
        do {
            let client = try APNSClient(routes: [settings.route], time: time, options: options)
            let request = PushRequest.update(
                try UpdatePayload(timestamp: time.wall(), contentState: EncodedObject([:])),
                to: try UpdateToken(hex: String(repeating: "0", count: 64)),
                PushRequest.Envelope(
                    bundleID: settings.app, environment: settings.environment, priority: .low, expiration: .once,
                    id: PushID(random: dice(), dice())))
            let deadline = time.monotonic() + Self.timeLimit
            let result: Result<PushAnswer, PushFailure>
            do throws(PushFailure) {
                result = .success(try await client.send(Push(request, sendBefore: deadline, answerBy: deadline)))
            } catch {
                result = .failure(error)
            }
            let skew = Self.skew(result, at: time.wall()) ?? client.status.first?.clockSkew
            await client.shutdown(within: .seconds(1))
            return (result, skew)
        } catch {
            return (.failure(PushFailure(.cannotConnect, "\(error)")), nil)
        }
    }
}
