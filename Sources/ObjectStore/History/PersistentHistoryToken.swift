// PersistentHistoryToken: a place in the histories of stores.
import Foundation

/// A place in the history of a store, or of several: what was written up to it.
///
/// Keep it where the application keeps its own state, and ask later for what has come since:
///
/// ```swift
/// let request = PersistentHistoryChangeRequest.fetchHistory(after: token)
/// for transaction in try context.execute(request).transactions { print(transaction.author ?? "nobody") }
/// ```
///
/// It is coded as a dictionary of the stores' UUIDs. Two tokens compare store by store, see ``isOlder(than:inStore:)``.
public struct PersistentHistoryToken: Sendable, Hashable {
  /// The places by the stores' UUIDs.
  package var positions: [String: HistoryPosition]

  /// The place in one store.
  package init(_ position: HistoryPosition, of store: String) { positions = [store: position] }

  package init(_ positions: [String: HistoryPosition]) { self.positions = positions }

  /// The UUIDs of the stores that it is of, sorted.
  public var storeIdentifiers: [String] { positions.keys.sorted() }

  /// Whether another token is of the same store and later there; nil where one of them is not of the store.
  ///
  /// - Parameters:
  ///   - other: The other token.
  ///   - store: The store's UUID.
  public func isOlder(than other: PersistentHistoryToken, inStore store: String) -> Bool? {
    guard let mine = positions[store], let theirs = other.positions[store] else { return nil }
    return mine.number < theirs.number
  }

  /// This token with the places of another one, for stores where that is later or this one has none.
  public func merging(_ other: PersistentHistoryToken) -> PersistentHistoryToken {
    PersistentHistoryToken(positions.merging(other.positions) { $0.number < $1.number ? $1 : $0 })
  }
}

extension PersistentHistoryToken: Codable {
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidHistoryToken`` where the data are no token's.
  public init(from decoder: any Decoder) throws {
    guard let positions = try? decoder.singleValueContainer().decode([String: HistoryPosition].self),
      positions.allSatisfy({ UUID(uuidString: $0.key) != nil && $0.value.number > 0 })
    else { throw StoreError(.invalidHistoryToken, operation: .readHistory) }
    self.positions = positions
  }

  /// - Throws: `EncodingError` where the encoder refuses.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(positions)
  }
}

extension PersistentHistoryToken: LosslessStringConvertible {
  /// The token as one line of text without spaces, for command lines and logs.
  public var description: String {
    positions.sorted { $0.key < $1.key }
      .map { "\($0.key)/\($0.value.number)/\(String(UInt64(bitPattern: $0.value.mark), radix: 16))" }.joined(separator: "+")
  }

  /// Reads ``description``; nil where the text is none.
  public init?(_ description: String) {
    var positions: [String: HistoryPosition] = [:]
    for part in description.split(separator: "+", omittingEmptySubsequences: false) {
      let fields = part.split(separator: "/", omittingEmptySubsequences: false)
      guard fields.count == 3, UUID(uuidString: String(fields[0])) != nil, let number = Int64(fields[1]), number > 0,
        let mark = UInt64(fields[2], radix: 16),
        positions.updateValue(HistoryPosition(number: number, mark: Int64(bitPattern: mark)), forKey: String(fields[0])) == nil
      else { return nil }
    }
    self.positions = positions
  }
}
