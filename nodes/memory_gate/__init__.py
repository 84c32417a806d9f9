"""x"""
from discreet.nodes.memory_gate.rules import *
from discreet.nodes.memory_gate.rules import RuleBook, default_rules
