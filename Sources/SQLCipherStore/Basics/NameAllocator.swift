// NameAllocator: names for tables and columns that SQLite takes and tells apart.

/// Gives each thing its own name wherever possible, suffixed where another has it. SQLite folds ASCII letters only, so this does too.
struct NameAllocator {
  private var taken: Set<[UInt8]> = []

  /// Names of a space in which some are reserved.
  init(reserved: [String]) {
    for name in reserved { taken.insert(Self.folded(name)) }
  }

  /// A free name like the one wanted.
  mutating func take(_ wanted: String) -> String {
    var base = String(String.UnicodeScalarView(wanted.unicodeScalars.map { $0 == "\0" ? "_" : $0 }))
    if base.isEmpty { base = "_" }
    if Self.folded(base).starts(with: Array("sqlite_".utf8)) { base = "_" + base }
    var name = base
    var number = 2
    while !taken.insert(Self.folded(name)).inserted {
      name = "\(base)_\(number)"
      number += 1
    }
    return name
  }

  private static func folded(_ name: String) -> [UInt8] {
    name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 }
  }
}
