import Foundation

/// Properties of a terminal.
package enum Terminal {
  /// Returns whether a descriptor is a terminal.
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Returns the number of columns of a terminal; 80 if unknown.
  package static func width(_ descriptor: Int32) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}

/// The number of columns that text occupies on a terminal: two for East Asian wide characters and emoji, zero for combining marks.
///
/// The ranges are those with East_Asian_Width W or F in Unicode 15.1's EastAsianWidth.txt. Adjacent ranges are merged across unassigned
/// code points.
package enum DisplayWidth {
  /// Returns the width of text without line breaks. Linear in the text's length.
  package static func of(_ text: String) -> Int {
    // The common case is ASCII.
    var text = text
    let plain: Int? = text.withUTF8 { bytes in bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? bytes.count : nil }
    return plain ?? text.reduce(0) { $0 + of($1) }
  }

  /// Returns the width of a grapheme cluster.
  package static func of(_ character: Character) -> Int {
    var width = 0
    var emojiSelector = false
    var regionalIndicators = 0
    for scalar in character.unicodeScalars {
      if scalar.value == 0xFE0F { emojiSelector = true }
      if (0x1F1E6...0x1F1FF).contains(scalar.value) { regionalIndicators += 1 }
      width = max(width, of(scalar))
    }
    if regionalIndicators == 2 { return 2 }
    // A text symbol that a variation selector turns into an emoji.
    return emojiSelector && width == 1 ? 2 : width
  }

  /// Returns the longest prefix that fits into a number of columns.
  package static func prefix(_ text: String, width: Int) -> String {
    var left = width
    var end = text.startIndex
    while end < text.endIndex {
      left -= of(text[end])
      if left < 0 { return String(text[..<end]) }
      end = text.index(after: end)
    }
    return text
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    let value = scalar.value
    if value < 0x300 { return value >= 0x20 && !(0x7F..<0xA0).contains(value) && value != 0xAD ? 1 : 0 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator, .surrogate: return 0
    default: break
    }
    // The vowels and final consonants of Korean syllables combine with the first consonant.
    if (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value) { return 0 }
    return isWide(value) ? 2 : 1
  }

  private static func isWide(_ value: UInt32) -> Bool {
    guard value >= 0x1100 else { return false }
    var low = 0
    var high = wideRanges.count
    while low < high {
      let middle = (low + high) / 2
      if wideRanges[middle].upperBound < value {
        low = middle + 1
      } else if wideRanges[middle].lowerBound > value {
        high = middle
      } else {
        return true
      }
    }
    return false
  }

  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3, 0x25FD...0x25FE,
    0x2614...0x2615, 0x2648...0x2653, 0x267F...0x267F, 0x2693...0x2693, 0x26A1...0x26A1, 0x26AA...0x26AB, 0x26BD...0x26BE,
    0x26C4...0x26C5, 0x26CE...0x26CE, 0x26D4...0x26D4, 0x26EA...0x26EA, 0x26F2...0x26F3, 0x26F5...0x26F5, 0x26FA...0x26FA,
    0x26FD...0x26FD, 0x2705...0x2705, 0x270A...0x270B, 0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755,
    0x2757...0x2757, 0x2795...0x2797, 0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50, 0x2B55...0x2B55,
    0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FB, 0x1F004...0x1F004,
    0x1F0CF...0x1F0CF, 0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F200...0x1F202, 0x1F210...0x1F23B, 0x1F240...0x1F248,
    0x1F250...0x1F251, 0x1F260...0x1F265, 0x1F300...0x1F320, 0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393,
    0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3, 0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440,
    0x1F442...0x1F4FC, 0x1F4FF...0x1F53D, 0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596,
    0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2, 0x1F6D5...0x1F6D7,
    0x1F6DC...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7EB, 0x1F7F0...0x1F7F0, 0x1F90C...0x1F93A,
    0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}

/// A progress bar on the terminal. It writes nothing if standard error is not a terminal.
package final class ProgressBar {
  private let title: String
  private let total: Int?
  private let descriptor: Int32
  private let isShown: Bool
  private let started = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  /// Creates a progress bar.
  ///
  /// - Parameters:
  ///   - title: The name of the operation.
  ///   - total: The total amount; `nil` if unknown.
  ///   - descriptor: The descriptor to write to if it is a terminal.
  package init(_ title: String, total: Int?, descriptor: Int32 = STDERR_FILENO, isShown: Bool? = nil) {
    self.title = title
    self.total = total
    self.descriptor = descriptor
    self.isShown = isShown ?? Terminal.isTerminal(descriptor)
  }

  /// Shows the completed amount, at most twelve times a second.
  package func update(_ done: Int, detail: @autoclosure () -> String = "") {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let drawn, now - drawn < .milliseconds(80) { return }
    drawn = now
    write("\r" + Self.line(title, done: done, total: total, detail: detail(), width: Terminal.width(descriptor)) + "\u{1B}[K")
  }

  /// Removes the bar from the terminal.
  package func finish() {
    guard isShown, drawn != nil else { return }
    write("\r\u{1B}[K")
    drawn = nil
  }

  /// Returns the line as it is displayed.
  package static func line(_ title: String, done: Int, total: Int?, detail: String, width: Int) -> String {
    var text = title
    if let total, total > 0 {
      let share = min(max(Double(done) / Double(total), 0), 1)
      let cells = max(min(30, width - DisplayWidth.of(title) - DisplayWidth.of(detail) - 12), 0)
      let filled = Int(share * Double(cells))
      text += " [" + String(repeating: "#", count: filled) + String(repeating: "-", count: cells - filled) + "]"
      let percent = String(Int(share * 100))
      text += " " + String(repeating: " ", count: 3 - percent.count) + percent + "%"
    }
    if !detail.isEmpty { text += " " + detail }
    return DisplayWidth.prefix(text, width: max(width - 1, 10))
  }

  private func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Foundation.write(descriptor, $0.baseAddress, $0.count) }
  }
}
