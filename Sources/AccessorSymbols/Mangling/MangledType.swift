// MangledType: the types that stand in symbols.

/// The kind of a nominal type.
package enum NominalKind: String, Hashable, Sendable {
  /// A class.
  case classType = "C"
  /// A structure.
  case structure = "V"
  /// An enumeration.
  case enumeration = "O"
  /// A protocol.
  case protocolType = "P"
}

/// A nominal type as symbols name it: the module, and the types that it is nested in.
package struct MangledNominal: Hashable, Sendable {
  /// One of the names: the type's own is the last.
  package struct Component: Hashable, Sendable {
    package var name: String
    package var kind: NominalKind
    /// What tells a private type from those of the same name in other files.
    package var discriminator: String?
    /// The module of the extension that it is declared in, where that is not the module of the extended type.
    package var extensionModule: String?

    package init(_ name: String, _ kind: NominalKind, discriminator: String? = nil, extensionModule: String? = nil) {
      (self.name, self.kind, self.discriminator, self.extensionModule) = (name, kind, discriminator, extensionModule)
    }
  }

  /// The module where the outermost type is declared.
  package var module: String
  package var components: [Component]

  package init(module: String, _ components: [Component]) { (self.module, self.components) = (module, components) }

  /// A type that is nested in none.
  package init(_ module: String, _ name: String, _ kind: NominalKind) { self.init(module: module, [Component(name, kind)]) }

  /// The type that it is nested in.
  var parent: MangledNominal? { components.count > 1 ? MangledNominal(module: module, Array(components.dropLast())) : nil }
  /// The names, from the outermost on.
  package var path: String { components.map(\.name).joined(separator: ".") }
}

/// A type in a symbol. Type aliases and the sugar of optionals, arrays and dictionaries do not stand there.
package indirect enum MangledType: Hashable, Sendable {
  case nominal(MangledNominal)
  /// A generic type with its arguments, as `Set` with `String`.
  case generic(MangledNominal, [MangledType])
  case optional(MangledType)
  /// A value of any type that conforms to a protocol.
  case existential(MangledNominal)
  /// `Any`.
  case anything
  /// `AnyObject`.
  case anyObject
  /// `Void`, the result of most methods.
  case nothing
}

extension MangledType {
  /// The type as Swift, with the names of the types that it is nested in and without modules.
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
  /// The type as Swift, without its module. Between backticks a name may be a keyword.
  package var text: String { components.map { "`\($0.name)`" }.joined(separator: ".") }
}
