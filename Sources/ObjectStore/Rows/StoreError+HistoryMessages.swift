// Messages of errors that concern histories.

extension StoreError.Reason {
  private typealias Parts = StoreError.Parts

  var historyParts: StoreError.Parts? {
    switch self {
    case .unreadableHistory(let number):
      return Parts(
        .storeCorrupt,
        "The record \(number) of the store's history cannot be read. Objects are not affected: disable and enable the history, or restore the "
          + "store from a backup.")
    case .historyOff:
      return Parts(
        .historyNotTracked,
        "The store keeps no history. Set its description's historyTracking, or enable it with “cipherdata history --enable”.")
    case .historyUnsupported(let type): return Parts(.unsupported, "Stores of the type “\(type)” do not support histories.")
    case .historyExpired(let oldest):
      let rest = oldest.map { "The oldest remaining position is \($0)." } ?? "The history is empty."
      return Parts(
        .historyTokenExpired,
        "The transactions after this position were deleted from the store's history. \(rest) Fetch the objects again, and continue from the current "
          + "position.")
    case .historyTokenUnknown:
      return Parts(
        .historyTokenUnknown,
        "This position is not in the store's history: the store was restored from an older copy, or its history was disabled since. Fetch "
          + "the objects again, and continue from the current position.")
    case .historyTokenOfOtherStore(let known):
      return Parts(
        .historyTokenOfOtherStore,
        "The position belongs to the history of another store (stores of the token: \(known.isEmpty ? "none" : known.joined(separator: ", "))). Use a position of a store "
          + "that is open.")
    case .invalidHistoryToken:
      return Parts(.invalidHistoryToken, "This is not a position in a history: it is neither an encoded token nor its text form.")
    case .historyConsumersBehind(let names):
      let (has, them) = names.count == 1 ? ("has", "it") : ("have", "them")
      return Parts(
        .historyConsumerBehind,
        "\(Self.listed(names)) \(has) not read the transactions to delete yet. Remove \(them) from the consumers, or force the deletion; all "
          + "objects must then be fetched again.")
    case .historyStillRead(let names):
      return Parts(
        .historyConsumerBehind, "The history has the consumers \(Self.listed(names)). Remove them before disabling it.")
    case .unknownHistoryConsumer(let name, let known):
      let list = known.isEmpty ? "there are none" : "registered are \(Self.listed(known.sorted()))"
      return Parts(.historyConsumerBehind, "No consumer “\(name)” of the history is registered; \(list).")
    default: return nil
    }
  }

  private static func listed(_ names: [String]) -> String { names.map { "“\($0)”" }.joined(separator: ", ") }
}
