/// The reason why an `@NSManaged` declaration gets no accessors. Its description has the form that build systems parse:
/// `file:line: error: message`.
package struct AccessorIssue: Error, Equatable, CustomStringConvertible, Sendable {
  package enum Reason: Equatable, Sendable {
    case unknownType(String)
    case ambiguousType(String, in: [String])
    case genericType(String)
    case unsupportedType(String)
    case missingType
    case unknownClass(String)
    case noClass(String)
    case genericClass(String)
    case privateClass(String)
    case privateType(String)
    case declaredInFunction
    case unknownMethod
    case noDigest
    case notWritten
  }

  package var file: String
  package var line: Int
  /// The name of the property or method.
  package var name: String
  package var reason: Reason
  /// The `#if` conditions of the declaration. The issue is an error only if they hold, which the compiler determines.
  package var conditions: [String]

  package init(file: String, line: Int, name: String, reason: Reason, conditions: [String] = []) {
    (self.file, self.line, self.name, self.reason, self.conditions) = (file, line, name, reason, conditions)
  }

  package var description: String { "\(file):\(line): error: \(message)" }

  private var message: String {
    switch reason {
    case .unknownType(let type):
      "the type \(type) of \(name) is not declared in this target, its dependencies, Swift or Foundation; use a type that is"
    case .ambiguousType(let type, let places):
      "the type \(type) of \(name) is declared more than once (\(places.joined(separator: ", "))); prefix it with its module"
    case .genericType(let type):
      "\(type) cannot be the type of \(name): its arguments do not match, or it is a generic alias; write the type itself"
    case .unsupportedType(let type): "\(type) cannot be a type of the managed declaration \(name); use a type that an attribute can have"
    case .missingType: "\(name) has no type; write it after a colon"
    case .unknownClass(let type): "\(type), which \(name) is declared in, is not a class of this target or its dependencies"
    case .noClass(let type): "\(name) is declared in \(type), which is not a class; use @NSManaged in subclasses of NSManagedObject"
    case .genericClass(let type): "\(name) is declared in \(type), which is generic; entity classes cannot be generic"
    case .privateClass(let type):
      "\(name) is declared in \(type), which is private to its file, but the accessors are in another one: make the class internal"
    case .privateType(let type):
      "\(name) is of the type \(type), which is private to its file, but the accessors are in another one: make the type internal"
    case .unknownMethod:
      "\(name) is not a method of a to-many relationship (addTo, removeFrom, insertInto and replace with its name); write its body"
    case .declaredInFunction: "@NSManaged is used in a local class; declare the class outside the function"
    case .noDigest: "libcrypto offers no MD5, which the symbol of the private declaration \(name) requires; make it internal"
    case .notWritten: "\(name) is private to its file, and would be written in another one; declare it outside of the #if"
    }
  }
}
