import SQLCipherConnection

/// The length of a list of keys in a statement. Shorter lists repeat their last key, so that few different statements are prepared. The raw
/// value is the length.
enum KeyListSize: Int, CaseIterable, Sendable {
  case one = 1
  case eight = 8
  case forty = 40
  case twoHundred = 200
  case fiveHundred = 500

  /// Creates the smallest size that holds a number of keys, or the greatest size if none does.
  init(holding count: Int) {
    switch count {
    case ...Self.one.rawValue: self = .one
    case ...Self.eight.rawValue: self = .eight
    case ...Self.forty.rawValue: self = .forty
    case ...Self.twoHundred.rawValue: self = .twoHundred
    default: self = .fiveHundred
    }
  }

  /// The index among all sizes.
  @inline(__always) var position: Int {
    switch self {
    case .one: 0
    case .eight: 1
    case .forty: 2
    case .twoHundred: 3
    case .fiveHundred: 4
    }
  }

  static let maximum = KeyListSize.fiveHundred
  /// The number of cases: the statement numbers of a statement that is cached in every size.
  @inline(__always) static var count: Int { KeyListSize.fiveHundred.position + 1 }

  /// Calls `body` with consecutive slices of a list, each with its size.
  static func forEachChunk(of keys: ArraySlice<Int64>, _ body: (ArraySlice<Int64>, KeyListSize) throws -> Void) rethrows {
    var rest = keys
    while !rest.isEmpty {
      let chunk = rest.prefix(maximum.rawValue)
      try body(chunk, KeyListSize(holding: chunk.count))
      rest = rest.dropFirst(chunk.count)
    }
  }

  /// The comparison `= ?` or `IN (?, ...)`.
  var condition: String {
    self == .one ? "= ?" : "IN (" + Array(repeating: "?", count: rawValue).joined(separator: ", ") + ")"
  }

  /// Binds a slice to the first placeholders. The last key is bound to the remaining ones.
  func bind(_ keys: ArraySlice<Int64>, to statement: Statement) throws {
    var place: Int32 = 1
    for key in keys {
      try statement.bind(place, key)
      place += 1
    }
    guard let last = keys.last else { return }
    while place <= Int32(rawValue) {
      try statement.bind(place, last)
      place += 1
    }
  }
}
