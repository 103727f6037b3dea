import Foundation

/// A format of `os_log`: C conversions with a width, a precision, and options such as `%{public}@`.
struct FormatString {
  private let format: [Unicode.Scalar]

  init(_ format: String) { self.format = Array(format.unicodeScalars) }

  private struct Conversion {
    var options: Set<String> = []
    var flags = ""
    var width: Int?
    var precision: Int?
    var letter: Unicode.Scalar = "@"
  }

  /// The remaining arguments.
  private struct Arguments {
    var rest: ArraySlice<Any?>

    mutating func next() -> Any? { rest.popFirst().map { $0 ?? "(null)" } }
  }

  /// Returns the text with the arguments inserted.
  func text(_ arguments: [Any?]) -> String {
    var (result, position) = ("", 0)
    var arguments = Arguments(rest: arguments[...])
    while position < format.count {
      guard format[position] == "%" else {
        result.unicodeScalars.append(format[position])
        position += 1
        continue
      }
      position += 1
      if position < format.count, format[position] == "%" {
        result += "%"
        position += 1
        continue
      }
      guard let conversion = conversion(&position, &arguments) else { return result + "%" }
      result += text(conversion, &arguments)
    }
    return result
  }

  /// Parses a conversion after its percent sign.
  private func conversion(_ position: inout Int, _ arguments: inout Arguments) -> Conversion? {
    var conversion = Conversion()
    if position < format.count, format[position] == "{", let end = format[position...].firstIndex(of: "}") {
      let options = String(String.UnicodeScalarView(format[position + 1..<end]))
      conversion.options = Set(options.split(separator: ",").map { $0.filter { $0 != " " } })
      position = end + 1
    }
    while position < format.count, "-+ #0'".unicodeScalars.contains(format[position]) {
      if format[position] != "'" { conversion.flags.unicodeScalars.append(format[position]) }
      position += 1
    }
    conversion.width = number(&position, &arguments)
    if position < format.count, format[position] == "." {
      position += 1
      conversion.precision = number(&position, &arguments) ?? 0
    }
    while position < format.count, "hlqLtjz".unicodeScalars.contains(format[position]) { position += 1 }
    guard position < format.count else { return nil }
    conversion.letter = format[position]
    position += 1
    return conversion
  }

  private func number(_ position: inout Int, _ arguments: inout Arguments) -> Int? {
    if position < format.count, format[position] == "*" {
      position += 1
      guard let width = arguments.next() as? any BinaryInteger else { return nil }
      return Int(truncatingIfNeeded: width)
    }
    var digits = ""
    while position < format.count, ("0"..."9").contains(format[position]) {
      digits.unicodeScalars.append(format[position])
      position += 1
    }
    // An unlimited width could exhaust memory.
    return digits.isEmpty ? nil : min(Int(digits) ?? 1000, 1000)
  }

  private func text(_ conversion: Conversion, _ arguments: inout Arguments) -> String {
    if conversion.letter == "m" { return String(cString: strerror(errno)) }
    guard let argument = arguments.next() else { return "<decode: missing data>" }
    let isNumber = !"@sSP".unicodeScalars.contains(conversion.letter)
    let privacy: OSLogPrivacy =
      conversion.options.contains("public")
      ? .public
      : conversion.options.contains("mask.hash")
        ? .private(mask: .hash) : conversion.options.isDisjoint(with: ["private", "sensitive"]) ? .auto : .private
    return privacy.text(isNumber: isNumber) { value(argument, conversion) }
  }

  private func value(_ argument: Any, _ conversion: Conversion) -> String {
    let limits = (conversion.width.map { "\(min($0, 1000))" } ?? "") + (conversion.precision.map { ".\(min(max(0, $0), 1000))" } ?? "")
    let mismatch = "<decode: mismatch for [%\(conversion.letter)] got [\(type(of: argument))]>"
    switch conversion.letter {
    case "@": return padded(object(argument), conversion)
    case "s", "S":
      let text = (argument as? UnsafePointer<CChar>).map { String(cString: $0) } ?? object(argument)
      return padded(conversion.precision.map { String(text.prefix(max(0, $0))) } ?? text, conversion)
    case "d", "D", "i", "u", "U", "x", "X", "o", "O", "c", "C":
      guard let number = integer(argument) else { return mismatch }
      if conversion.options.contains("bool") || conversion.options.contains("BOOL") {
        let words = conversion.options.contains("BOOL") ? ("YES", "NO") : ("true", "false")
        return number.signed != 0 ? words.0 : words.1
      }
      if conversion.options.contains("darwin.errno") {
        return "[\(number.signed): \(String(cString: strerror(Int32(truncatingIfNeeded: number.signed))))]"
      }
      switch conversion.letter {
      case "c", "C": return Unicode.Scalar(UInt32(truncatingIfNeeded: number.signed)).map { String($0) } ?? mismatch
      case "d", "D", "i": return String(format: "%\(conversion.flags)\(limits)lld", number.signed)
      default:
        let letter = String(conversion.letter).replacing("U", with: "u").replacing("O", with: "o")
        return String(format: "%\(conversion.flags)\(limits)ll\(letter)", number.unsigned)
      }
    case "f", "F", "e", "E", "g", "G", "a", "A":
      guard let number = (argument as? Double) ?? (argument as? Float).map(Double.init) ?? (argument as? NSNumber)?.doubleValue else {
        return mismatch
      }
      return String(format: "%\(conversion.flags)\(limits)\(conversion.letter)", number)
    case "p":
      if let pointer = argument as? UnsafeRawPointer { return "\(pointer)" }
      if let pointer = argument as? UnsafeMutableRawPointer { return "\(pointer)" }
      return mismatch
    default: return mismatch
    }
  }

  private func object(_ argument: Any) -> String { (argument as? NSObject)?.description ?? "\(argument)" }

  private func padded(_ text: String, _ conversion: Conversion) -> String {
    let blanks = String(repeating: " ", count: max(0, min(conversion.width ?? 0, 1000) - text.count))
    return conversion.flags.contains("-") ? text + blanks : blanks + text
  }

  /// Returns an integer with its sign, and as the bit pattern of its type.
  private func integer(_ argument: Any) -> (signed: Int64, unsigned: UInt64)? {
    func parts(_ number: some FixedWidthInteger) -> (Int64, UInt64) {
      let mask = number.bitWidth < 64 ? (UInt64(1) << UInt64(number.bitWidth)) - 1 : .max
      return (Int64(truncatingIfNeeded: number), UInt64(truncatingIfNeeded: number) & mask)
    }
    if let number = argument as? any FixedWidthInteger { return parts(number) }
    return (argument as? NSNumber).map { parts($0.int64Value) }
  }
}
