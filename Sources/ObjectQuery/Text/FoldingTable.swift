/// A table of the folded forms of common letters, so that most texts need no normalization. None of these letters composes with a preceding
/// one.
struct FoldingTable: Sendable {
  private var bytes: [UInt8] = []
  /// The offset of each letter's form; one more entry than there are letters.
  private var starts: [Int32] = []

  /// U+0080 to U+02FF, U+0370 to U+052F and U+1E00 to U+1FFF, without combining marks, whose entries are empty and never used.
  private static let low: Range<UInt32> = 0x80..<0x530
  private static let high: Range<UInt32> = 0x1E00..<0x2000

  private static let caseTable = FoldingTable(.caseInsensitive)
  private static let diacriticTable = FoldingTable(.diacriticInsensitive)
  private static let bothTable = FoldingTable([.caseInsensitive, .diacriticInsensitive])

  static func table(for options: ComparisonOptions) -> FoldingTable {
    switch options {
    case .caseInsensitive: caseTable
    case .diacriticInsensitive: diacriticTable
    default: bothTable
    }
  }

  /// Folds all letters in one text, one per line.
  private init(_ options: ComparisonOptions) {
    var lines = String.UnicodeScalarView()
    for value in [FoldingTable.low, FoldingTable.high].joined() {
      if let scalar = Unicode.Scalar(value), !FoldingTable.combines(value) { lines.append(scalar) }
      lines.append("\n")
    }
    starts.append(0)
    for byte in TextFolding.foldSlowly(String(lines), options).utf8 {
      if byte == 0x0A { starts.append(Int32(bytes.count)) } else { bytes.append(byte) }
    }
  }

  private static func combines(_ value: UInt32) -> Bool { (0x300..<0x370).contains(value) || (0x483..<0x48A).contains(value) }

  /// Appends the folded form of a scalar; returns false if the table does not contain it.
  func append(_ scalar: Unicode.Scalar, lowers: Bool, to result: inout [UInt8]) -> Bool {
    let value = scalar.value
    if value < 0x80 {
      result.append(lowers && value &- 0x41 < 26 ? UInt8(value | 0x20) : UInt8(value))
      return true
    }
    let entry: Int
    if FoldingTable.low.contains(value) {
      guard !FoldingTable.combines(value) else { return false }
      entry = Int(value - FoldingTable.low.lowerBound)
    } else if FoldingTable.high.contains(value) {
      entry = FoldingTable.low.count + Int(value - FoldingTable.high.lowerBound)
    } else {
      guard FoldingTable.isUnchanged(value) else { return false }
      result.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
      return true
    }
    result.append(contentsOf: bytes[Int(starts[entry])..<Int(starts[entry + 1])])
    return true
  }

  /// Returns whether a scalar has neither case nor marks: dashes and quotes, precomposed kana, Han, Hangul syllables, pictographs.
  private static func isUnchanged(_ value: UInt32) -> Bool {
    switch value {
    case 0x2010..<0x2028, 0x3041..<0x3095, 0x30A1..<0x30FB, 0x3400..<0x4DC0, 0x4E00..<0xA000, 0xAC00..<0xD7A4, 0x1F300..<0x1FB00: true
    default: false
    }
  }
}
