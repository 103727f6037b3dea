import SQLCipherConnection

/// The length of a list of keys in a statement: a shorter list repeats its last key, so that few statements are prepared. The raw value is the length.
enum KeyListSize: Int, CaseIterable, Sendable {
  case one = 1
  case eight = 8
  case forty = 40
  case twoHundred = 200
  case fiveHundred = 500

  /// The smallest that holds a number of keys; the greatest where none does.
  init(holding count: Int) {
    switch count {
    case ...Self.one.rawValue: self = .one
    case ...Self.eight.rawValue: self = .eight
    case ...Self.forty.rawValue: self = .forty
    case ...Self.twoHundred.rawValue: self = .twoHundred
    default: self = .fiveHundred
    }
  }

  /// The position among all sizes, from 0.
  @inline(__always) var position: Int {
    switch self {
    case .one: 0
    case .eight: 1
    case .forty: 2
    case .twoHundred: 3
    case .fiveHundred: 4
    }
  }

  static let greatest = KeyListSize.fiveHundred
  /// How many there are: statements that are kept in every size have so many numbers.
  @inline(__always) static var count: Int { KeyListSize.fiveHundred.position + 1 }

  /// Calls `body` with pieces of a list, each with its size.
  static func forEachPiece(of keys: ArraySlice<Int64>, _ body: (ArraySlice<Int64>, KeyListSize) throws -> Void) rethrows {
    var rest = keys
    while !rest.isEmpty {
      let piece = rest.prefix(greatest.rawValue)
      try body(piece, KeyListSize(holding: piece.count))
      rest = rest.dropFirst(piece.count)
    }
  }

  /// `= ?` or `IN (?, ...)`.
  var condition: String {
    self == .one ? "= ?" : "IN (" + Array(repeating: "?", count: rawValue).joined(separator: ", ") + ")"
  }

  /// Binds a piece to the first placeholders; the last key fills what is left.
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
