// Copies of descriptions without unknown parts of the model file, for comparison.

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
