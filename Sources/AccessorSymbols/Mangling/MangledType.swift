/// The kind of a nominal type.
package enum NominalKind: String, Hashable, Sendable {
  case classType = "C"
  case structure = "V"
  case enumeration = "O"
  case protocolType = "P"
}

/// A nominal type in a symbol: its module and the types in which it is nested.
package struct MangledNominal: Hashable, Sendable {
  /// One of the names; the type's own name is the last.
  package struct Component: Hashable, Sendable {
    package var name: String
    package var kind: NominalKind
    /// A text that distinguishes a private type from those of the same name in other files.
    package var discriminator: String?
    /// The module of the extension that declares the type, if it differs from the module of the extended type.
    package var extensionModule: String?

    package init(_ name: String, _ kind: NominalKind, discriminator: String? = nil, extensionModule: String? = nil) {
      (self.name, self.kind, self.discriminator, self.extensionModule) = (name, kind, discriminator, extensionModule)
    }
  }

  /// The module that declares the outermost type.
  package var module: String
  package var components: [Component]

  package init(module: String, _ components: [Component]) { (self.module, self.components) = (module, components) }

  /// Creates a type that is not nested.
  package init(_ module: String, _ name: String, _ kind: NominalKind) { self.init(module: module, [Component(name, kind)]) }

  /// The type in which it is nested.
  var parent: MangledNominal? { components.count > 1 ? MangledNominal(module: module, Array(components.dropLast())) : nil }
  /// The names, from the outermost to the innermost.
  package var path: String { components.map(\.name).joined(separator: ".") }
}

/// A type in a symbol. Type aliases and the sugar for optionals, arrays, and dictionaries do not occur in symbols.
package indirect enum MangledType: Hashable, Sendable {
  case nominal(MangledNominal)
  /// A generic type with its arguments, such as `Set<String>`.
  case generic(MangledNominal, [MangledType])
  case optional(MangledType)
  /// An existential type, `any P`.
  case existential(MangledNominal)
  /// `Any`.
  case anything
  /// `AnyObject`.
  case anyObject
  /// `Void`, the result of most methods.
  case nothing
}

extension MangledType {
  /// The type in Swift syntax, with the types in which it is nested and without modules.
  package var text: String {
    switch self {
    case .nominal(let nominal): nominal.text
    case .generic(let nominal, let arguments): "\(nominal.text)<\(arguments.map(\.text).joined(separator: ", "))>"
    case .optional(.existential(let nominal)): "(any \(nominal.text))?"
    case .optional(let wrapped): wrapped.text + "?"
    case .existential(let nominal): "any \(nominal.text)"
    case .anything: "Any"
    case .anyObject: "AnyObject"
    case .nothing: "Void"
    }
  }
}

extension MangledNominal {
  /// The type in Swift syntax, without its module. Names are in backticks because they can be keywords.
  package var text: String { components.map { "`\($0.name)`" }.joined(separator: ".") }
}

/// The types of the standard library whose symbols are `S` and a letter.
enum StandardTypes {
  private static let letters: [String: Character] = [
    "AutoreleasingUnsafeMutablePointer": "A", "Array": "a", "Bool": "b", "Dictionary": "D", "Double": "d", "Float": "f", "Set": "h",
    "DefaultIndices": "I", "Int": "i", "Character": "J", "ClosedRange": "N", "Range": "n", "ObjectIdentifier": "O", "UnsafePointer": "P",
    "UnsafeMutablePointer": "p", "UnsafeBufferPointer": "R", "UnsafeMutableBufferPointer": "r", "String": "S", "Substring": "s",
    "UInt": "u", "UnsafeRawPointer": "V", "UnsafeMutableRawPointer": "v", "UnsafeRawBufferPointer": "W",
    "UnsafeMutableRawBufferPointer": "w", "Optional": "q", "BinaryFloatingPoint": "B", "Encodable": "E", "Decodable": "e",
    "FloatingPoint": "F", "RandomNumberGenerator": "G", "Hashable": "H", "Numeric": "j", "BidirectionalCollection": "K",
    "RandomAccessCollection": "k", "Comparable": "L", "Collection": "l", "MutableCollection": "M", "RangeReplaceableCollection": "m",
    "Equatable": "Q", "Sequence": "T", "IteratorProtocol": "t", "UnsignedInteger": "U", "RangeExpression": "X", "Strideable": "x",
    "RawRepresentable": "Y", "StringProtocol": "y", "SignedInteger": "Z", "BinaryInteger": "z",
  ]

  static func letter(of name: String) -> UInt8? { letters[name]?.asciiValue }
}
