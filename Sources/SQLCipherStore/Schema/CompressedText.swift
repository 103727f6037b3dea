private import CZlib
import Foundation

/// Text compressed as a zlib stream (RFC 1950), such as the model in a store's metadata.
///
/// The input of ``expand(_:)`` is untrusted: another program may have written it.
enum CompressedText {
  /// The maximum size of an expanded text, in bytes. No model is larger, and a damaged stream must not exhaust memory.
  static let largestText = 256 << 20

  /// Compresses the text's UTF-8.
  static func compress(_ text: String) -> Data? {
    let bytes = Array(text.utf8)
    var length = compressBound(uLong(bytes.count))
    var result = [UInt8](repeating: 0, count: Int(length))
    guard compress2(&result, &length, bytes, uLong(bytes.count), 9) == Z_OK else { return nil }
    return Data(result.prefix(Int(length)))
  }

  /// Returns the text of a stream, or `nil` if the bytes are not a stream of UTF-8 text or exceed ``largestText``.
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
