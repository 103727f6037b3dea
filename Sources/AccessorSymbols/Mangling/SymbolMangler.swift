/// A member of a class in a symbol.
package struct MangledMember: Sendable {
  package var owner: MangledNominal
  /// The module of the extension that declares the member, if it differs from the module of the class.
  package var extensionModule: String?
  package var name: String
  /// A text that distinguishes a private member from those of the same name in other files.
  package var discriminator: String?

  package init(of owner: MangledNominal, extensionModule: String? = nil, name: String, discriminator: String? = nil) {
    (self.owner, self.extensionModule, self.name, self.discriminator) = (owner, extensionModule, name, discriminator)
  }
}

/// Generates the symbols that the compiler gives to members of classes, in Swift's stable mangling, for all types that an `@NSManaged`
/// property can have.
package enum SymbolMangler {
  /// Returns the symbol of a property's getter.
  package static func getter(of member: MangledMember, type: MangledType) -> String { accessor(member, type, "vg") }
  /// Returns the symbol of a property's setter.
  package static func setter(of member: MangledMember, type: MangledType) -> String { accessor(member, type, "vs") }

  /// Returns the symbol of a method.
  ///
  /// - Parameters:
  ///   - member: The method.
  ///   - labels: The argument labels; `nil` for `_`.
  ///   - parameters: The parameter types.
  ///   - result: The result type.
  package static func method(_ member: MangledMember, labels: [String?], parameters: [MangledType], result: MangledType) -> String {
    var writer = begin(member)
    if !labels.isEmpty, labels.allSatisfy({ $0 == nil }) {
      writer.text.append("y")
    } else {
      for label in labels {
        if let label { writer.text.append(identifier: label) } else { writer.text.append("_") }
      }
    }
    if result == .nothing { writer.text.append("y") } else { writer.append(result) }
    writer.append(parameters: parameters, areTuple: parameters.count > 1 || labels.contains { $0 != nil })
    return writer.text.text + "F"
  }

  private static func accessor(_ member: MangledMember, _ type: MangledType, _ code: String) -> String {
    var writer = begin(member)
    writer.append(type)
    return writer.text.text + code
  }

  private static func begin(_ member: MangledMember) -> Writer {
    var writer = Writer()
    writer.text.append("$s")
    writer.append(member.owner)
    if let module = member.extensionModule {
      writer.append(module: module)
      writer.text.append("E")
    }
    writer.append(name: member.name, member.discriminator)
    return writer
  }
}

private struct Writer {
  var text = SymbolText()

  mutating func append(module: String) {
    if module == "Swift" { text.append("s") } else { text.append(identifier: module) }
  }

  mutating func append(name: String, _ discriminator: String?) {
    text.append(identifier: name)
    guard let discriminator else { return }
    text.append(identifier: discriminator)
    text.append("LL")
  }

  mutating func append(_ nominal: MangledNominal) {
    guard let own = nominal.components.last else { return }
    if nominal.module == "Swift", nominal.components.count == 1, let letter = StandardTypes.letter(of: own.name) {
      return text.append(standard: letter)
    }
    if text.appendSubstitution(nominal) { return }
    if let parent = nominal.parent { append(parent) } else { append(module: nominal.module) }
    if let module = own.extensionModule {
      append(module: module)
      text.append("E")
    }
    append(name: own.name, own.discriminator)
    // The context identifies a protocol, which needs no letter.
    if own.kind != .protocolType { text.append(own.kind.rawValue) }
    text.remember(nominal)
  }

  mutating func append(_ type: MangledType) {
    switch type {
    case .nominal(let nominal): append(nominal)
    case .generic(let nominal, let arguments):
      if text.appendSubstitution(type) { return }
      append(nominal)
      text.append("y")
      for argument in arguments { append(argument) }
      text.append("G")
      text.remember(type)
    case .optional(let wrapped):
      if text.appendSubstitution(type) { return }
      append(wrapped)
      text.append("Sg")
      text.remember(type)
    case .existential(let nominal):
      append(nominal)
      text.append("_p")
    case .anything: text.append("yp")
    case .anyObject: text.append("yXl")
    case .nothing: text.append("yt")
    }
  }

  /// Appends the parameters of a method. A single one without a label is not a tuple.
  mutating func append(parameters: [MangledType], areTuple: Bool) {
    if parameters.isEmpty { return text.append("y") }
    for (index, parameter) in parameters.enumerated() {
      append(parameter)
      if index == 0, areTuple { text.append("_") }
    }
    if areTuple { text.append("t") }
  }
}
