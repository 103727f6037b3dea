/// Unknown attributes and child elements of an element in a model file, preserved in order, so that writing the file loses nothing.
package struct PreservedXML: Sendable, Hashable {
  /// An unchanged element.
  package struct Element: Sendable, Hashable {
    /// The element's name.
    package var name: String
    /// Its attributes.
    package var attributes: [String: String]
    /// Its child elements.
    package var children: [Element]
    /// Its text, without surrounding white space.
    package var text: String

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - name: The element's name.
    ///   - attributes: Its attributes.
    ///   - children: Its child elements.
    ///   - text: Its text.
    package init(name: String, attributes: [String: String] = [:], children: [Element] = [], text: String = "") {
      self.name = name
      self.attributes = attributes
      self.children = children
      self.text = text
    }
  }
  /// Attributes by name.
  package var attributes: [String: String] = [:]
  /// Child elements in file order.
  package var elements: [Element] = []

  /// Creates an empty value.
  package init() {}
}

// MARK: - Copies of descriptions without unknown parts, for comparison

extension AttributeDescription {
  var withoutPreserved: AttributeDescription {
    var attribute = self
    attribute.preserved = PreservedXML()
    return attribute
  }
}

extension CompositeDescription {
  var withoutPreserved: CompositeDescription {
    var composite = self
    composite.preserved = PreservedXML()
    composite.elements = elements.map(\.withoutPreserved)
    return composite
  }
}

extension FetchIndexElement {
  var withoutPreserved: FetchIndexElement {
    var element = self
    element.preserved = PreservedXML()
    return element
  }
}

extension FetchIndexDescription {
  var withoutPreserved: FetchIndexDescription {
    var index = self
    index.preserved = PreservedXML()
    index.elements = elements.map(\.withoutPreserved)
    return index
  }
}

extension FetchRequestTemplate {
  var withoutPreserved: FetchRequestTemplate {
    var template = self
    template.preserved = PreservedXML()
    return template
  }
}

extension EntityDescription {
  var withoutPreserved: EntityDescription {
    var entity = self
    entity.preserved = PreservedXML()
    entity.properties = properties.map { property in
      switch property {
      case .attribute(let attribute): return .attribute(attribute.withoutPreserved)
      case .relationship(var relationship):
        relationship.preserved = PreservedXML()
        return .relationship(relationship)
      case .fetchedProperty(var fetched):
        fetched.preserved = PreservedXML()
        return .fetchedProperty(fetched)
      }
    }
    entity.indexes = indexes.map(\.withoutPreserved)
    return entity
  }
}
