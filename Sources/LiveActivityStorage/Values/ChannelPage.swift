package import APNSModel
package import LiveActivityCore

/// Page of a list of broadcast channels.
package struct ChannelPage: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        package var record: ChannelRecord
        /// The channel's activity as it is now; `nil` if it was erased.
        package var activity: ActivityRecord?

        package init(record: ChannelRecord, activity: ActivityRecord?) {
            self.record = record
            self.activity = activity
        }
    }

    package var rows: [Row]
    /// Key after which the next page begins; `nil` if this is the last page.
    package var next: ChannelKey?

    package init(rows: [Row], next: ChannelKey?) {
        self.rows = rows
        self.next = next
    }
}

/// Ids of the channels of one route.
package struct RouteChannels: Sendable, Equatable {
    /// Channels of the server's activities.
    package var own: Set<ChannelID>
    /// Channels that APNs lists and that the server has not made, in order.
    package var foreign: [ChannelID]

    package init(own: Set<ChannelID>, foreign: [ChannelID]) {
        self.own = own
        self.foreign = foreign
    }
}
