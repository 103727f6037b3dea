public import Foundation

/// A failure to read or write a model file. Contains the file and the line, but never the value of an attribute.
public struct ModelFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The file does not exist or cannot be read.
    case unreadable
    /// The file cannot be written.
    case unwritable
    /// The file exceeds the limits of size, nesting depth or number of elements.
    case tooLarge
    /// The file declares XML entities or a document type, which models do not need.
    case unsafe
    /// The file is not well-formed XML, or ends early.
    case malformed
    /// The file is XML, but not a model.
    case notAModel
    /// An attribute or element has an invalid value.
    case badValue
    /// A bundle has no version, or does not specify the current one.
    case noCurrentVersion
    /// The model is compiled, as in an application built by Xcode.
    case compiled
  }
  /// The kind of failure.
  public let code: Code
  /// The path of the file; nil for data in memory.
  public let path: String?
  /// The line in the file, from 1; nil if the error does not concern a line.
  public let line: Int?
  /// The column in the line, from 1; nil if the error does not concern an element.
  public let column: Int?
  /// A message that says what is wrong and what to do.
  public let reason: String

  package init(_ code: Code, path: String? = nil, line: Int? = nil, column: Int? = nil, _ reason: String) {
    self.code = code
    self.path = path
    self.line = line
    self.column = column
    self.reason = reason
  }

  /// The error as `path:line:column: reason`.
  public var description: String {
    let location = [path, line.map(String.init), column.map(String.init)].compactMap { $0 }.joined(separator: ":")
    return location.isEmpty ? reason : "\(location): \(reason)"
  }
}

// MARK: - Advice

extension ModelFileError: LocalizedError {}

extension ModelFileError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension ModelFileError.Code {
  /// The messages for the user and the developer of an application.
  @_optimize(none) package var advice: ErrorAdvice {
    switch self {
    case .unreadable:
      ErrorAdvice(
        user: "A file of the application is missing or cannot be read.",
        developer: "Check the path, the file's mode, and that the model is a resource of the target.")
    case .unwritable: ErrorAdvice(user: "A file cannot be written.", developer: "Check the folder's mode and the free disk space.")
    case .tooLarge:
      ErrorAdvice(user: "A file of the application is damaged.", developer: "The file is too large to be a model: check the path.")
    case .unsafe:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Remove the document type and the XML entities: a model must not contain them.")
    case .malformed:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Correct the XML at the line in the message, or restore the file from version control.")
    case .notAModel:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Use the path of an .xcdatamodel, an .xcdatamodeld or the contents file inside.")
    case .badValue: ErrorAdvice(user: "A file of the application is damaged.", developer: "Correct the value at the line in the message.")
    case .noCurrentVersion:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Add a version to the bundle, and name the current version in its .xccurrentversion.")
    case .compiled:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Use the .xcdatamodeld or .xcdatamodel that the model was compiled from.")
    }
  }
}
