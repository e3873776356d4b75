import JSONText
import LiveActivityServer

extension ConfigurationKey {
    /// Keys of an app's sign-in.
    static let people: [ConfigurationKey] = [
        ConfigurationKey(
            "issuers", .scalars("text"), .required("https://id.example.com"),
            "The accepted issuers of tokens: a token's `iss` must equal one of them."),
        ConfigurationKey(
            "audience", .text("text"), .required("islet"),
            "The required audience of tokens: a token's `aud`, or one of its elements. Issuer and audience together "
                + "name one app."),
        ConfigurationKey(
            "secretFile", .text("path"), .optional("people-secrets"),
            "The file with the secret for tokens signed with HS256: a line of at least 32 bytes, or several lines "
                + "while one replaces another. Give one of secretFile, secretEnvironment, keyFile and jwks."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("PEOPLE_SECRET"),
            "The environment variable that holds the secret, in place of secretFile."),
        ConfigurationKey(
            "keyFile", .text("path"), .required("people-keys.pem"),
            "The public keys in PEM form, one or several: RSA of 2048 bits at least for RS256, P-256 for ES256, "
                + "Ed25519 for EdDSA."),
        ConfigurationKey(
            "jwks", .object(jwks), .group(isOptional: true),
            "The identity provider's key set, in place of your own keys."),
        ConfigurationKey(
            "algorithms", .scalars(TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")),
            .optional("ES256"),
            "The accepted algorithms of signatures; left out, those of the keys. A key is never used with another "
                + "algorithm than its own."),
        ConfigurationKey(
            "user", .text("JSON Pointer"), .defaulted(PeopleSettings.standardUser.description),
            "The claim that is the person's id, as the backend names people."),
        ConfigurationKey(
            "leeway", .scalar("duration"), .defaulted(Wording.duration(PeopleSettings.standardLeeway)),
            "Accepted difference between the clocks of issuer and server, at most 10m."),
    ]

    private static let jwks: [ConfigurationKey] = [
        ConfigurationKey(
            "url", .text("https URL"), .required("https://id.example.com/.well-known/jwks.json"),
            "The URL of the key set. Redirects are not followed."),
        ConfigurationKey(
            "refresh", .scalar("duration"), .defaulted(Wording.duration(KeySetSchedule.Limits().refresh)),
            "Time between two fetches if the answer does not say how long it is fresh: 1m to 1d. A token with an "
                + "unknown key triggers a fetch at once, at most once a minute."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, or lead to this machine or a private network."),
    ]
}
