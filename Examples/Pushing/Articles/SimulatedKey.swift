import APNSSimulator

// article: simulated-key
/// Returns a new key that a simulator can accept, and the text of its `.p8` file.
func simulatedKey() -> (key: ProviderKey, p8: String) { ProviderKey.fresh() }
// end
