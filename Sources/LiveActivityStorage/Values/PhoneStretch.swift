package import LiveActivityCore

/// So many phones of an activity, from the one after `after`.
package struct PhoneStretch: Sendable, Equatable {
    package var after: DeviceKey
    package var limit: Int

    package init(after: DeviceKey, limit: Int) {
        self.after = after
        self.limit = limit
    }
}
