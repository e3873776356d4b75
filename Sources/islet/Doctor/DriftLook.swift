import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage
import StorageSQLite

/// Whether what runs still fits the contracts that are configured: a contract that is changed does not change what was
/// set before it.
enum DriftLook {
    /// Of each type at most, those that were made last: a look in passing.
    static let most = 200
    /// Pages of all that run of an app which are looked through for one type's: 200,000 activities.
    static let mostPages = 20

    /// - Returns: `nil` where the database cannot be looked into.
    static func facts(_ settings: Settings, _ look: DatabaseInspection) async -> [DoctorFacts.ContractFacts]? {
        let types = settings.apps.flatMap { app in
            app.types.values.sorted { $0.name < $1.name }.compactMap { type in
                type.contract.map { (app: app.bundleID, name: type.name, contract: $0) }
            }
        }
        // One that is not of this version the server has to open first.
        guard !types.isEmpty, look.exists, look.schema == .current else { return [] }
        if case .damaged = look.integrity { return nil }
        guard look.problem == nil, look.folderIsWritable,
            let store = try? SQLiteStore(path: settings.databasePath, access: .administration)
        else { return nil }
        defer { store.close() }
        var facts: [DoctorFacts.ContractFacts] = []
        for type in types {
            do throws(StorageError) {
                facts.append(try await fact(store, type.app, type.name, type.contract))
            } catch {
                return nil
            }
        }
        return facts
    }

    private static func fact(
        _ store: SQLiteStore, _ app: BundleID, _ type: String, _ contract: Contract
    ) async throws(StorageError) -> DoctorFacts.ContractFacts {
        var filter = ActivityFilter(limit: most)
        (filter.type, filter.phase, filter.isNewestFirst) = (type, .active, true)
        var facts = DoctorFacts.ContractFacts(app: app, type: type)
        var rows: [ActivityPage.Row] = []
        for _ in 0..<mostPages {
            let page = try await store.activities(of: app, filter)
            rows += page.rows.prefix(most - rows.count)
            filter.after = page.next
            // A page may have few, where most of what runs is of other types.
            guard rows.count < most, filter.after != nil else { break }
        }
        facts.isCut = rows.count < most && filter.after != nil
        for row in rows {
            guard let content = try await store.activity(app, row.record.id)?.content else { continue }
            facts.looked += 1
            let obstacles = contract.obstacles(state: object(content.state), attributes: object(content.attributes))
            guard let first = obstacles.first else { continue }
            facts.unfit += 1
            guard facts.example == nil else { continue }
            // The value that stands there is what people are shown, and nobody else's matter.
            let place = first.pointer == .root ? "" : "\(first.pointer): "
            facts.example = "`\(row.record.id)`: \(place)\(first.expected) expected"
        }
        return facts
    }

    private static func object(_ encoded: EncodedObject) -> JSONObject {
        (try? JSONValue(parsing: encoded.bytes))?.object ?? [:]
    }
}
