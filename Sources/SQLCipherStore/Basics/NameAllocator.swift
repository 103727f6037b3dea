/// Assigns unique names to tables and columns.
///
/// A name is used as it is if possible, and gets a suffix if it is taken. Names that differ only in the case of ASCII letters clash, as in
/// SQLite.
struct NameAllocator {
  private var taken: Set<[UInt8]> = []

  /// Creates a namespace with reserved names.
  init(reserved: [String]) {
    for name in reserved { taken.insert(Self.folded(name)) }
  }

  /// Returns the requested name, changed as little as needed to make it valid and unique.
  mutating func take(_ preferred: String) -> String {
    var base = String(String.UnicodeScalarView(preferred.unicodeScalars.map { $0 == "\0" ? "_" : $0 }))
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
