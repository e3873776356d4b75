import LiveActivityCore

extension Schema.Name {
    /// The schema of the list of broadcast channels.
    var channelSchema: Schema {
        .answer(
            "Broadcast channels that the server has, those of the newest activities first.",
            [
                Schema.needed("channels", .list(Self.channel)),
                Schema.needed("routes", .list(Self.route), "Numbers of the app's channels in each environment."),
                Schema.field("next", .text(), "Value of `after` for the next page."),
            ])
    }

    private static let environment = Schema.choice(["sandbox", "production"])
    private static let operations = ChannelFlight.Kind.allCases.map(\.name)

    private static let channel = Schema.answer(
        "One channel. Each run of an activity has its own, in each environment.",
        [
            Schema.needed("app", .text(), "The bundle id."), Schema.needed("environment", environment),
            Schema.field("activity", .text(1...256), "Id of the activity; absent if the activity was erased."),
            Schema.needed("activityNumber", .count, "Number of the activity in the database."),
            Schema.needed("run", .count), Schema.field("channel", .text(), "Id of the channel; absent: none exists."),
            Schema.needed("state", .choice(ChannelStanding.State.allCases.map(\.rawValue))),
            Schema.field("deletesAt", moment, "Time at which an `ending` channel is deleted."),
            Schema.needed("storage", .choice(["mostRecent", "none"]), "Messages that APNs stores for offline phones."),
            Schema.needed("sentRevision", .count, "Newest revision that all cards of the channel were sent."),
            Schema.field("revision", .count, "Newest revision of the run; absent: the run is no more."),
            Schema.needed("isBehind", .flag, "`true` if cards lack the newest revision, or the end."),
            Schema.needed("ends", .count, "Number of accepted ends with the newest last state."),
            Schema.field("lastTimestamp", .count, "Newest timestamp that was used, in seconds."),
            Schema.field("lastAt", moment, "Time of the newest broadcast."),
            Schema.needed("failures", .count, "Number of consecutive failures."),
            Schema.field("reason", .named(.reason), "The last failure."),
            Schema.field("fix", .text(), "Advice on what to do."),
            Schema.field(
                "operation",
                .answer(
                    "Operation under way.",
                    [Schema.needed("kind", .choice(operations)), Schema.needed("since", moment)])),
            Schema.field("nextLookAt", moment, "Time at which the server looks at the channel again."),
        ])

    private static let route = Schema.answer(
        "Numbers of the app's channels in one environment.",
        [
            Schema.needed("app", .text()), Schema.needed("environment", environment),
            Schema.needed("channels", .count, "Number of channels of this server that exist."),
            Schema.needed("foreign", .count, "Number of channels that APNs lists and that this server has not made."),
            Schema.needed("limit", .count, "Maximum number of channels that APNs allows."),
            Schema.needed("automaticLimit", .count, "Number of channels at which `delivery: auto` makes no more."),
        ])
}
