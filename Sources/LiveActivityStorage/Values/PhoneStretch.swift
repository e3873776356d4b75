package import LiveActivityCore

/// Range of an activity's phones: at most `limit`, starting after `after`.
package struct PhoneStretch: Sendable, Equatable {
    package var after: DeviceKey
    package var limit: Int

    package init(after: DeviceKey, limit: Int) {
        self.after = after
        self.limit = limit
    }
}
