import Foundation

/// A position in the history of one or more stores.
///
/// Save a token with the application's own state, and fetch the transactions that were committed after it later:
///
/// ```swift
/// let request = PersistentHistoryChangeRequest.fetchHistory(after: token)
/// for transaction in try context.execute(request).transactions { print(transaction.author ?? "unknown") }
/// ```
///
/// A token is encoded as a dictionary whose keys are the stores' UUIDs. Tokens are compared by store; see ``isOlder(than:inStore:)``.
public struct PersistentHistoryToken: Sendable, Hashable {
  /// The positions, by store UUID.
  package var positions: [String: HistoryPosition]

  /// Creates a token for a position in one store.
  package init(_ position: HistoryPosition, of store: String) { positions = [store: position] }

  package init(_ positions: [String: HistoryPosition]) { self.positions = positions }

  /// The UUIDs of the token's stores, sorted.
  public var storeIdentifiers: [String] { positions.keys.sorted() }

  /// Returns whether another token has a later position in a store, or nil if either token has no position in it.
  ///
  /// - Parameters:
  ///   - other: The other token.
  ///   - store: The UUID of the store.
  public func isOlder(than other: PersistentHistoryToken, inStore store: String) -> Bool? {
    guard let mine = positions[store], let theirs = other.positions[store] else { return nil }
    return mine.number < theirs.number
  }

  /// Returns a token with the later of the two positions for each store.
  public func merging(_ other: PersistentHistoryToken) -> PersistentHistoryToken {
    PersistentHistoryToken(positions.merging(other.positions) { $0.number < $1.number ? $1 : $0 })
  }
}

extension PersistentHistoryToken: Codable {
  /// Decodes a token.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidHistoryToken`` if the data is not a valid token.
  public init(from decoder: any Decoder) throws {
    guard let positions = try? decoder.singleValueContainer().decode([String: HistoryPosition].self),
      positions.allSatisfy({ UUID(uuidString: $0.key) != nil && $0.value.number > 0 })
    else { throw StoreError(.invalidHistoryToken, operation: .readHistory) }
    self.positions = positions
  }

  /// Encodes the token.
  ///
  /// - Throws: `EncodingError` if the encoder fails.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(positions)
  }
}

extension PersistentHistoryToken: LosslessStringConvertible {
  /// The token as a single line of text without spaces, for command lines and logs.
  public var description: String {
    positions.sorted { $0.key < $1.key }
      .map { "\($0.key)/\($0.value.number)/\(String(UInt64(bitPattern: $0.value.mark), radix: 16))" }.joined(separator: "+")
  }

  /// Parses the format of ``description``. Returns nil if the text is invalid.
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

/// The position of a transaction in the history of a store.
package struct HistoryPosition: Sendable, Hashable, Codable {
  /// The number of the transaction's first row.
  package var number: Int64
  /// The random mark of that row, which distinguishes histories that use the same numbers.
  package var mark: Int64

  package init(number: Int64, mark: Int64) { (self.number, self.mark) = (number, mark) }
}
