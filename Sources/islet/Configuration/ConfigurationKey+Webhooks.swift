import LiveActivityCore

extension ConfigurationKey {
    /// Keys of one endpoint that receives events.
    static let webhook: [ConfigurationKey] = [
        ConfigurationKey(
            "name", .text("letters, digits, - _ ."), .required("backend"),
            "The webhook's name in commands and the log; at most 64 characters, and unique within the app. The server "
                + "stores the delivery progress under this name, whatever the URL."),
        ConfigurationKey(
            "url", .text("https URL"), .required("https://backend.example.com/islet-events"),
            "The URL that receives events, each by a signed POST. Redirects are not followed."),
        ConfigurationKey(
            "secretFile", .text("path"), .required("webhook-secret"),
            "The file with the secret that the calls are signed with (Standard Webhooks): `whsec_` and 24 to 64 bytes "
                + "in base64. Give it or secretEnvironment."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("WEBHOOK_SECRET"),
            "The environment variable that holds the secret, in place of secretFile."),
        ConfigurationKey(
            "kinds", .scalars(EventRecord.Kind.allCases.map(\.name).joined(separator: ", ")),
            .optional("dismissed, ended"), "The kinds of events to deliver; left out, all."),
        ConfigurationKey(
            "timeout", .scalar("duration"), .defaulted(Wording.duration(Default.webhookTimeout)),
            "Maximum time for one answer, from 100 ms to 60s; then the event is retried later."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, or lead to this machine or a private network."),
    ]
}
