import LiveActivityCore

extension ConfigurationKey {
    /// Keys of one endpoint that receives events.
    static let webhook: [ConfigurationKey] = [
        ConfigurationKey(
            "name", .text("letters, digits, - _ ."), .required("backend"),
            "What commands and the log call it; at most 64 characters, and another one for each of an app. How far it "
                + "was told is kept under this name, whatever its URL."),
        ConfigurationKey(
            "url", .text("https URL"), .required("https://backend.example.com/islet-events"),
            "Where events are told, each by a signed POST. Redirects are not followed."),
        ConfigurationKey(
            "secretFile", .text("path"), .required("webhook-secret"),
            "The file with the secret that the calls are signed with (Standard Webhooks): `whsec_` and 24 to 64 bytes "
                + "in base64. Give it or secretEnvironment."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("WEBHOOK_SECRET"),
            "The environment variable that holds the secret, in place of secretFile."),
        ConfigurationKey(
            "kinds", .scalars(EventRecord.Kind.allCases.map(\.name).joined(separator: ", ")),
            .optional("dismissed, ended"), "The kinds of events that are told; left out, all."),
        ConfigurationKey(
            "timeout", .scalar("duration"), .defaulted(Wording.duration(Default.webhookTimeout)),
            "How long one answer may take, at most 60s; then the event is told again later."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, and lead to this machine or a private network."),
    ]
}
