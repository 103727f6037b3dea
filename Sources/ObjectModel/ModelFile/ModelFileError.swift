// ModelFileError: why a model file could not be read or written.

/// Why a model file could not be read or written. It names the file and the line; it never quotes a value of an attribute.
public struct ModelFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// There is no such file, or it may not be read.
    case unreadable
    /// The file may not be written.
    case unwritable
    /// The file is larger, deeper or has more elements than the reader takes.
    case tooLarge
    /// The file declares XML entities or a document type, for which a model has no use.
    case unsafe
    /// The file is not well-formed XML, or ends early.
    case malformed
    /// The file is XML but not a model.
    case notAModel
    /// An attribute or element has a value that means nothing here.
    case badValue
    /// A bundle has no version, or does not say which one is current.
    case noCurrentVersion
    /// The model is compiled: what Xcode puts into an application.
    case compiled
  }
  /// What kind of failure it is.
  public let code: Code
  /// The file; nil when the bytes came from memory.
  public let path: String?
  /// The line of the file, from 1; nil when it is not in one.
  public let line: Int?
  /// The column of the line, from 1; nil where the error is not about an element.
  public let column: Int?
  /// What is wrong and what to do.
  public let reason: String

  package init(_ code: Code, path: String? = nil, line: Int? = nil, column: Int? = nil, _ reason: String) {
    self.code = code
    self.path = path
    self.line = line
    self.column = column
    self.reason = reason
  }

  /// `path:line:column: reason`.
  public var description: String {
    let place = [path, line.map(String.init), column.map(String.init)].compactMap { $0 }.joined(separator: ":")
    return place.isEmpty ? reason : "\(place): \(reason)"
  }
}
