// Messages of errors that concern histories.

extension StoreError.Reason {
  private typealias Parts = StoreError.Parts

  var historyParts: StoreError.Parts? {
    switch self {
    case .unreadableHistory(let number):
      return Parts(
        .storeCorrupt,
        "The record \(number) of the store's history cannot be read. Objects are not concerned: switch the history off and on again, or restore the "
          + "store from a backup.")
    case .historyOff:
      return Parts(
        .historyNotTracked,
        "The store keeps no history. Set historyTracking of its description, or switch it on with “cipherdata history --enable”.")
    case .historyUnsupported(let type): return Parts(.unsupported, "Stores of the type “\(type)” keep no history.")
    case .historyExpired(let oldest):
      let rest = oldest.map { "The oldest place that is left is \($0)." } ?? "Nothing is left of it."
      return Parts(
        .historyTokenExpired,
        "What follows this place in the store's history was deleted from it. \(rest) Read the objects anew, and go on from the present "
          + "place.")
    case .historyTokenUnknown:
      return Parts(
        .historyTokenUnknown,
        "This place is none of the store's history: the store was restored from an older copy, or its history was switched off since. Read "
          + "the objects anew, and go on from the present place.")
    case .historyTokenOfOtherStore(let known):
      return Parts(
        .historyTokenOfOtherStore,
        "The place is one in the history of another store: of \(known.isEmpty ? "none" : known.joined(separator: ", ")). Use one of a store "
          + "that is open here.")
    case .invalidHistoryToken:
      return Parts(.invalidHistoryToken, "This is no place in a history: nothing that a token was coded as, nor its text.")
    case .historyConsumersBehind(let names):
      let (has, them) = names.count == 1 ? ("has", "it") : ("have", "them")
      return Parts(
        .historyConsumerBehind,
        "\(Self.listed(names)) \(has) still to read what would be deleted. Remove \(them) from the consumers, or force the deletion: then all "
          + "objects have to be read anew.")
    case .historyStillRead(let names):
      return Parts(
        .historyConsumerBehind, "The history is read by \(Self.listed(names)). Remove what reads it before it is switched off.")
    case .unknownHistoryConsumer(let name, let known):
      let list = known.isEmpty ? "none is" : "registered are \(Self.listed(known.sorted()))"
      return Parts(.historyConsumerBehind, "No consumer “\(name)” of the history is registered; \(list).")
    default: return nil
    }
  }

  private static func listed(_ names: [String]) -> String { names.map { "“\($0)”" }.joined(separator: ", ") }
}
