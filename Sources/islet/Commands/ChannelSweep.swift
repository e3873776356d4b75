import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL

/// Deletes channels at APNs that the server has not made, one after the other.
///
/// No record of a deletion is needed. The server never uses such a channel, a second deletion does no harm, and the
/// server's next list forgets what APNs does not have any more. Until then the row stays, or a list that is on its way
/// could give the id to an activity.
struct ChannelSweep: Sendable {
    let route: PushRoute
    let sender: any ChannelSender
    /// Prints what became of a channel.
    let say: @Sendable (ChannelID, Fate) -> Void

    enum Fate: String, Sendable {
        case deleted
        case wasDeletedBefore = "was deleted before"
        case notDeleted = "not deleted"
        case mayBeDeleted = "may be deleted"
    }

    /// Maximum duration of one call.
    private static let limit = Duration.seconds(30)

    /// Returns the channels of these ids, each once.
    ///
    /// - Throws: `CommandError` for an id that the server has made, or does not know as somebody else's.
    static func choose(_ texts: [String], from known: RouteChannels) throws(CommandError) -> [ChannelID] {
        var chosen: [ChannelID] = []
        for text in texts {
            guard let id = ChannelID(text) else {
                throw CommandError("`\(text)` is no id of a channel. Nothing is deleted")
            }
            if known.own.contains(id) {
                throw CommandError(
                    "\(text) belongs to an activity of the server, which deletes it 12 hours after the activity's "
                        + "end: end the activity. Nothing is deleted")
            }
            guard known.foreign.contains(id) else {
                throw CommandError(
                    "the server does not know \(text) of this app and environment: `islet channels delete --unknown` "
                        + "prints those that it knows. It lists them at its start and every hour. Nothing is deleted")
            }
            if !chosen.contains(id) { chosen.append(id) }
        }
        return chosen
    }

    /// Deletes the channels, and says of each what became of it.
    ///
    /// - Throws: `CommandError` at the first call that fails, with what to do. Those before it are deleted.
    func run(_ ids: [ChannelID]) async throws {
        for (count, id) in ids.enumerated() {
            let failure = await delete(id)
            if let failure, !failure.isChannelGone {
                say(id, failure.mayHaveHappened ? .mayBeDeleted : .notDeleted)
                throw CommandError(
                    "\(failure). \(Self.advice(on: failure)). \(count) of \(ids.count) channels are deleted: then "
                        + "repeat the command for the rest")
            }
            say(id, failure == nil ? .deleted : .wasDeletedBefore)
        }
    }

    /// Returns the error of the call; `nil` if APNs has deleted the channel.
    private func delete(_ id: ChannelID) async -> BroadcastError? {
        // A deletion does not name what the channel stores, which the server does not know.
        let channel = BroadcastChannel(
            id: id, bundleID: route.app, environment: route.environment, policy: MessageStoragePolicy.none)
        do throws(BroadcastError) {
            try await sender.deleteChannel(channel, within: Self.limit)
            return nil
        } catch {
            return error
        }
    }

    private static func advice(on error: BroadcastError) -> String {
        if error.reason == .featureNotEnabled {
            return "Turn on the Broadcast Capability of the App ID in Apple's developer portal"
        }
        if case .refused(let status, _) = error.code, status == 403 {
            return "Correct the key: `islet doctor` says how"
        }
        if error.mayRetryLater || error.mayHaveHappened { return "Wait a minute, or see `islet doctor`" }
        return "See Apple's page \"Handling error responses from APNs\""
    }
}
