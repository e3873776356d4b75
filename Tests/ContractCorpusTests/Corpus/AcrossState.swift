// swift-format-ignore-file

extension AcrossFiles {
    struct State: Codable, Hashable {
        var kind: Kind
        var item: Item?
        var others: [Item.Other]
    }
}
