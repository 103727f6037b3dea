// CompressedText: a text as a zlib stream (RFC 1950), for the model inside a store.
private import CZlib
import Foundation

/// Compresses texts, and reads what somebody else may have written.
enum CompressedText {
  /// No model is larger; a damaged stream must not fill the memory.
  static let largestText = 256 << 20

  /// The text's UTF-8 as a zlib stream.
  static func compress(_ text: String) -> Data? {
    let bytes = Array(text.utf8)
    var length = compressBound(uLong(bytes.count))
    var result = [UInt8](repeating: 0, count: Int(length))
    guard compress2(&result, &length, bytes, uLong(bytes.count), 9) == Z_OK else { return nil }
    return Data(result.prefix(Int(length)))
  }

  /// The text of a stream; nil where the bytes are none, or too much.
  static func expand(_ data: Data) -> String? {
    let bytes = Array(data)
    var capacity = min(largestText, max(1 << 16, bytes.count * 8))
    while true {
      var result = [UInt8](repeating: 0, count: capacity)
      var length = uLongf(capacity)
      switch uncompress(&result, &length, bytes, uLong(bytes.count)) {
      case Z_OK: return String(validating: result.prefix(Int(length)), as: UTF8.self)
      case Z_BUF_ERROR where capacity < largestText: capacity = min(largestText, capacity * 4)
      default: return nil
      }
    }
  }
}
