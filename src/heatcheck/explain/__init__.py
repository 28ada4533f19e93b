"""Explanation methods: scores for the tokens of a text. EXPLAINERS is the list of all there are."""

from heatcheck.errors import InputError
from heatcheck.explain.attention import attention_weights
from heatcheck.explain.gradient import gradient, gradient_x_input
from heatcheck.explain.method import Method, parse
from heatcheck.explain.removal import leave_one_out
from heatcheck.models.protocols import AttentiveClassifier, Classifier, Predictor

EXPLAINERS: dict[str, Method] = {
    "attention": Method(attention_weights, AttentiveClassifier, about="the weights themselves"),
    "gradient": Method(gradient, Classifier, about="|∂y/∂e · e|, attention held fixed where it can be (paper 1)"),
    "gradient_x_input": Method(gradient_x_input, Classifier, about="∂y/∂e · e with its sign"),
    "leave_one_out": Method(leave_one_out, Predictor, about="change of the output when the word is deleted"),
}
# Names that Captum's and Inseq's users know.
ALIASES = {"input_x_gradient": "gradient_x_input", "saliency": "gradient"}


def method(text: str) -> Method:
    """The method that `text` names, settings included: `lime` or `lime(samples=200)`."""
    name, settings = parse(text)
    name = ALIASES.get(name, name)
    if name not in EXPLAINERS:
        raise InputError(f"There is no explanation method {name!r}. There are: {', '.join(EXPLAINERS)}.")
    return EXPLAINERS[name].with_settings(settings, text)
