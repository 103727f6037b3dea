/// The encoding of non-ASCII identifiers in symbols: RFC 3492, with the delimiter `_` and the letters `A` to `J` for the last ten digits.
enum Punycode {
  private static let base = 36
  private static let least = 1
  private static let most = 26

  /// Returns whether a name contains characters that symbols cannot contain.
  static func isNeeded(for name: [UInt8]) -> Bool { !name.allSatisfy(isOfSymbols) }

  private static func isOfSymbols(_ byte: UInt8) -> Bool {
    byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
  }

  /// Returns the encoded name.
  static func encode(_ name: String) -> String {
    // ASCII characters that symbols cannot contain, as in names in backticks, are mapped to unused code points.
    let points = name.unicodeScalars.map { scalar -> Int in
      let value = Int(scalar.value)
      return value < 128 && !isOfSymbols(UInt8(value)) ? value + 0xD800 : value
    }
    var code = points.filter { $0 < 128 }.map { UInt8($0) }
    let basic = code.count
    if basic > 0 { code.append(UInt8(ascii: "_")) }
    var (next, delta, bias, done) = (128, 0, 72, basic)
    while done < points.count, let point = points.filter({ $0 >= next }).min() {
      delta += (point - next) * (done + 1)
      next = point
      for other in points {
        if other < next { delta += 1 }
        guard other == next else { continue }
        append(delta, bias, to: &code)
        bias = adapt(delta, done + 1, isFirst: done == basic)
        delta = 0
        done += 1
      }
      delta += 1
      next += 1
    }
    return String(decoding: code, as: UTF8.self)
  }

  private static func append(_ delta: Int, _ bias: Int, to code: inout [UInt8]) {
    var rest = delta
    var step = base
    while true {
      let threshold = step <= bias ? least : min(step - bias, most)
      if rest < threshold { break }
      code.append(digit(threshold + (rest - threshold) % (base - threshold)))
      rest = (rest - threshold) / (base - threshold)
      step += base
    }
    code.append(digit(rest))
  }

  private static func digit(_ value: Int) -> UInt8 { value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "A") + UInt8(value - 26) }

  private static func adapt(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var steps = 0
    while delta > (base - least) * most / 2 {
      delta /= base - least
      steps += base
    }
    return steps + (base - least + 1) * delta / (delta + 38)
  }
}
